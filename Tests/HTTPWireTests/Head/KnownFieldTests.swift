import HTTPWire
import Testing

@Suite struct KnownFieldTests {
    /// Each known field with one of its names and a valid value.
    private static let lines = KnownField.allCases.filter { $0.name.utf8CodeUnitCount > 0 }.map { known in
        let name = "\(known.name)\(known.name.description.hasSuffix("-") ? "any" : "")"
        let value =
            switch known {
            case .transferEncoding: "chunked"
            case .connection: "close"
            default: "0"
            }
        return (known, name, value)
    }

    @Test(arguments: lines)
    func `each field is found by its name in either case, but not by a longer or shorter name`(
        known: KnownField,
        name: String,
        value: String
    ) throws {
        func found(_ name: String) throws -> KnownField? {
            let parsed = try parseAnswer([head(["HTTP/1.1 200 OK", "\(name): \(value)"])[...]])
            return try #require(parsed).0.fields.first?.known
        }
        #expect(try found(name) == known)
        #expect(try found(name.uppercased()) == known)
        if ![.martlet, .xForwarded].contains(known) {
            for other in [name + "s", "x" + name, String(name.dropLast()), "z" + name.dropFirst()] {
                #expect(try found(other) != known, "\(other)")
            }
        }
        let read = name.replacing("-", with: "_")
        if read != name { #expect(try found(read) == .underscored) }
    }
}
