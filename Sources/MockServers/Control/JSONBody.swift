internal import FoundationEssentials

/// JSON decoding, with error messages for people.
package enum JSONBody {
    /// Decodes a value. The error says what is wrong and at which path in the value.
    package static func decode<Value: Decodable>(
        _ type: Value.Type,
        from bytes: some Sequence<UInt8>
    ) throws(GrantRefusal) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch let error as DecodingError {
            throw GrantRefusal(.invalidRequest, Self.describe(error))
        } catch {
            throw GrantRefusal(.invalidRequest, "the body is not JSON")
        }
    }

    private static func describe(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, let context):
            "\(Self.path(context.codingPath + [key])): is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            "\(Self.path(context.codingPath)): has the wrong type"
        case .dataCorrupted(let context):
            context.codingPath.isEmpty
                ? "the body is not JSON" : "\(Self.path(context.codingPath)): \(context.debugDescription)"
        @unknown default:
            "the body is not what was expected"
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        keys.reduce(into: "") { path, key in
            if let index = key.intValue {
                path += "[\(index)]"
            } else {
                path += path.isEmpty ? key.stringValue : ".\(key.stringValue)"
            }
        }
    }
}

/// Any key of a JSON object, so that errors can name unknown keys.
struct JSONKey: CodingKey, ExpressibleByStringLiteral {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { self.stringValue = name }
    init(stringLiteral name: String) { self.stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}
