internal import Audit
internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore
internal import TextCoding
internal import TokenModel
internal import TokenRefresh

/// A bulk import: reads accounts and their tokens line by line, and meanwhile responds what came of the lines before.
///
/// The lines are imported in batches. A client that does not read its response is soon not read either. A client that
/// goes away ends the import after the batch in hand.
struct BulkImport: Sendable {
    let gateway: CurrentGateway
    /// Knows the admin tokens, which no account may have.
    let door: AdminAuthenticator?
    let existing: ExistingAccounts
    let administrator: Administrator?
    let actor: AuditActor
    /// How long the next part of the body may take to arrive.
    let patience: Duration
    /// Is called for each line that names an account which is not this administrator's.
    let reportOverstep: @Sendable () -> Void
    /// The fields of the response's head besides those of every response.
    var fields: HTTPFields = [:]

    /// How long a line waits for others before it is imported with fewer than a batch may have.
    private static let ripening = TimeAmount.milliseconds(20)
    static let contentType = "application/x-ndjson"

    /// - Throws: if the connection must end.
    @concurrent
    func respond(to body: RequestBodyStream, with writer: consuming ResponseWriter) async throws {
        var response = try await writer.writeHead(self.head)
        let queue = LineQueue<ImportLine>(batch: RefreshEngine.largestImport)
        var total = ImportEndResponse()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await self.read(body, into: queue) }
            // Lets the reader go on to its end, whatever ends this loop.
            defer { queue.close() }
            while let lines = await queue.take() {
                let results = await self.importLines(lines)
                for result in results {
                    total.count(result.result)
                    if result.isOverstep { self.reportOverstep() }
                }
                try await response.write(Self.text(of: results))
            }
            try await tasks.waitForAll()
        }
        try await response.write(Self.text(of: [total]))
        try await response.finish(nil)
    }

    private var head: HTTPResponse {
        var fields = self.fields
        fields[.contentType] = Self.contentType
        fields[.cacheControl] = "no-store"
        fields[.xContentTypeOptions] = "nosniff"
        return HTTPResponse(status: .ok, headerFields: fields)
    }

    @concurrent
    private func read(_ body: RequestBodyStream, into queue: LineQueue<ImportLine>) async throws {
        var splitter = LineSplitter(longest: ImportLine.longest)
        do {
            try await body.read(patience: self.patience) { part in
                let lines = splitter.take(part.readableBytesView).map(ImportLine.init)
                if await queue.add(lines) {
                    body.connection.eventLoop.scheduleTask(in: Self.ripening) { queue.ripen() }
                }
            }
        } catch {
            // The lines that are left are not imported: nobody would learn what came of them.
            queue.close()
            throw error
        }
        if let last = splitter.finish() { _ = await queue.add([ImportLine(last)]) }
        queue.finish()
    }

    private static func text(of lines: [some Encodable]) -> ByteBuffer {
        var text = ByteBuffer()
        for line in lines {
            // Encoding fails only for numbers that JSON can't represent, and there are none.
            guard let line = try? JSONText.encode(line) else { continue }
            text.writeBytes(line)
            text.writeInteger(UInt8(ascii: "\n"))
        }
        return text
    }
}

extension BulkImport {
    /// What a line asks for, after all checks that need no other line.
    private enum Order {
        case accepted(AccountImport)
        /// - Parameter of: `nil` if the account's name must not be shown.
        case refused(AdminError, of: AccountID?)
    }

    /// Imports the tokens of a batch.
    ///
    /// - Returns: what came of each line, in order.
    private func importLines(_ lines: [ImportLine]) async -> [ImportedLineResponse] {
        guard let gateway = self.gateway.open else {
            return lines.map { ImportedLineResponse($0.number, nil, refusedBy: .locked) }
        }
        let orders = lines.map { self.order($0, on: gateway) }
        let imports = orders.compactMap { order in
            if case .accepted(let one) = order { one } else { nil }
        }
        var outcomes: ArraySlice<ImportOutcome> = []
        var failure: AdminError?
        do throws(AdminError) {
            outcomes = try await gateway.importTokens(imports, existing: self.existing, by: self.actor)[...]
        } catch {
            failure = error
        }
        return zip(lines, orders).map { line, order in
            switch order {
            case .refused(let error, let account): ImportedLineResponse(line.number, account, refusedBy: error)
            case .accepted(let one):
                if let outcome = outcomes.popFirst() {
                    ImportedLineResponse(line.number, one.account, outcome)
                } else {
                    ImportedLineResponse(line.number, one.account, refusedBy: failure ?? .notConfigured)
                }
            }
        }
    }

    private func order(_ line: ImportLine, on gateway: OpenGateway) -> Order {
        let named: AccountID?
        switch line.content {
        case .tokens(_, let account): named = account
        case .fault(_, let account): named = account
        }
        do throws(AdminError) {
            if let named {
                try self.administrator.requireRight(to: named)
                guard gateway.engine.isConfigured(named) else { throw .notConfigured }
            }
        } catch {
            return .refused(error, of: nil)
        }
        switch line.content {
        case .fault(let error, _): return .refused(error, of: named)
        case .tokens(let tokens, let account):
            do throws(AdminError) {
                try self.door.checkForAdminTokens(in: tokens)
                return .accepted(AccountImport(tokens, of: account))
            } catch {
                return .refused(error, of: account)
            }
        }
    }
}

extension AdminAuthenticator? {
    /// An admin token must neither be sent to a provider nor replace tokens that work.
    func checkForAdminTokens(in tokens: TokenImport) throws(AdminError) {
        let fields: [(name: String, token: Secret?)] = [
            ("refresh_token", tokens.refreshToken), ("access_token", tokens.accessToken),
        ]
        for field in fields {
            guard let token = field.token, self?.isOpened(by: token) == true else { continue }
            throw .adminToken(in: field.name)
        }
    }
}
