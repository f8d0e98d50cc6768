import HTTPWire
import NIOCore

/// Routes whose account a request names itself, in `Martlet-Account`.
extension RouteTable {
    /// Where the route stands of the account that `request` names; whether the caller may use it is not asked here.
    ///
    /// A caller is told the same of an account that there is not as of one that is not its own.
    ///
    /// - Parameter run: the routes of one plan, in the order of their accounts' names.
    /// - Throws: ``GatewayError/Code/callerForbidden``.
    func choice(of request: RequestHead, among run: Range<Int>, for caller: Caller) throws(GatewayError) -> Int {
        // The configuration is refused then; here it would mean that anybody may choose.
        guard caller.name != nil else {
            throw GatewayError(.callerForbidden, "nobody is known who could choose an account")
        }
        let bytes = request.bytes.readableBytesUInt8Span
        guard
            let field = request.fields.first(where: {
                $0.known == .martlet && bytes.matches($0.name, "martlet-account")
            })
        else { throw GatewayError(.callerForbidden, reason: "the route needs Martlet-Account: the name of an account") }
        var run = run
        while !run.isEmpty {
            let middle = run.lowerBound + run.count / 2
            switch bytes.order(field.value, besides: self.routes[middle].accountName ?? []) {
            case .same: return middle
            case .before: run = run.lowerBound..<middle
            case .behind: run = middle + 1..<run.upperBound
            }
        }
        throw GatewayError(.callerForbidden, "Martlet-Account names no account")
    }
}

private enum Order { case before, same, behind }

extension Span<UInt8> {
    /// Where what stands in `range` belongs by its bytes.
    fileprivate func order(_ range: ByteRange, besides name: [UInt8]) -> Order {
        for index in 0..<Swift.min(range.count, name.count) {
            let byte = self[range.lower + index]
            if byte != name[index] { return byte < name[index] ? .before : .behind }
        }
        if range.count == name.count { return .same }
        return range.count < name.count ? .before : .behind
    }
}
