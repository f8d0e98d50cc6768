internal import TextCoding
internal import TokenModel

/// The members of a request's JSON object. Each member is taken once; a member that is left is an error.
struct JSONFields {
    private var members: [String: JSONValue]
    /// What the object is: `body`, `line`, or the name of the field that has it.
    private let whole: String

    /// Reads a body.
    ///
    /// - Parameter whole: what the object is, for errors.
    /// - Throws: ``AdminError/Code/invalidField`` for anything but one JSON object.
    init(_ body: [UInt8], of whole: String = "body") throws(AdminError) {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: body)
        } catch {
            throw AdminError(error, in: whole)
        }
        guard case .object(let members) = value else { throw .invalidField(whole, "the \(whole) is not a JSON object") }
        self.init(members, of: whole)
    }

    private init(_ members: [JSONMember], of whole: String) {
        self.members = Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }
        self.whole = whole
    }

    /// The members of a required object.
    mutating func fields(_ name: String) throws(AdminError) -> JSONFields {
        guard let members = try self.objectIfPresent(name) else { throw .invalidField(name, "\(name) is missing") }
        return JSONFields(members, of: name)
    }

    /// A required string.
    mutating func secret(_ name: String) throws(AdminError) -> Secret {
        guard let secret = try self.secretIfPresent(name) else { throw .invalidField(name, "\(name) is missing") }
        return secret
    }

    /// A string; `nil` where there is no such member, or `null`.
    mutating func secretIfPresent(_ name: String) throws(AdminError) -> Secret? {
        switch self.members.removeValue(forKey: name) {
        case nil, .null: return nil
        case .string(let secret): return secret
        default: throw .invalidField(name, "\(name) is not a string")
        }
    }

    /// A required name of an account.
    mutating func account(_ name: String) throws(AdminError) -> AccountID {
        AccountID(try Self.plain(try self.secret(name), name, longest: 256))
    }

    /// A whole number of at least 0; `nil` where there is no such member, or `null`.
    mutating func countIfPresent(_ name: String) throws(AdminError) -> Int64? {
        switch self.members.removeValue(forKey: name) {
        case nil, .null: return nil
        case .number(let text):
            // `3600.0` and `3.6e3` are the same number as `3600` (RFC 8259 §6), and some programs write it so.
            guard let count = Int64(text) ?? Double(text).flatMap(Int64.init(exactly:)), count >= 0 else {
                throw .invalidField(name, "\(name) is not a whole number of 0 or more")
            }
            return count
        default: throw .invalidField(name, "\(name) is not a number")
        }
    }

    /// A Boolean; `nil` where there is no such member, or `null`.
    mutating func flagIfPresent(_ name: String) throws(AdminError) -> Bool? {
        switch self.members.removeValue(forKey: name) {
        case nil, .null: return nil
        case .boolean(let flag): return flag
        default: throw .invalidField(name, "\(name) is neither true nor false")
        }
    }

    /// A string that is not secret; `nil` where there is no such member, or `null`.
    mutating func textIfPresent(_ name: String) throws(AdminError) -> String? {
        guard let text = try self.secretIfPresent(name) else { return nil }
        return try Self.plain(text, name, longest: 1_024)
    }

    /// The members of an object; `nil` where there is no such member, or `null`.
    mutating func objectIfPresent(_ name: String) throws(AdminError) -> [JSONMember]? {
        switch self.members.removeValue(forKey: name) {
        case nil, .null: return nil
        case .object(let members): return members
        default: throw .invalidField(name, "\(name) is not an object")
        }
    }

    /// A duration with its unit, such as `"15s"`; `nil` where there is no such member, or `null`.
    mutating func durationIfPresent(_ name: String, upTo longest: Duration) throws(AdminError) -> Duration? {
        guard let text = try self.textIfPresent(name) else { return nil }
        guard let duration = DurationText.parse(text), duration <= longest else {
            throw .invalidField(name, "\(name) is no time such as \"15s\", of at most \(longest.components.seconds)s")
        }
        return duration
    }

    /// Text that can be displayed: valid UTF-8 of at most `longest` characters (code points), none of them a control
    /// character.
    static func plain(_ secret: Secret, _ name: String, longest: Int) throws(AdminError) -> String {
        let text = secret.withUnredacted { span in
            span.count > 4 * longest ? nil : String(validating: span.indices.map { span[$0] }, as: UTF8.self)
        }
        guard let scalars = text?.unicodeScalars, scalars.count <= longest,
            scalars.allSatisfy({ $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) })
        else {
            throw .invalidField(name, "\(name) is not text of at most \(longest) characters, none a control character")
        }
        return String(scalars)
    }

    /// Requires that no member is left.
    func finish(expected: [String]) throws(AdminError) {
        guard let name = self.members.keys.min() else { return }
        let known = expected.isEmpty ? "there are no fields here" : "there are \(expected.joined(separator: ", "))"
        // The name may be a misplaced token: only text that looks like a name is repeated.
        guard Self.readsLikeName(name) else {
            throw .invalidField(self.whole, "the \(self.whole) has an unknown field; \(known)")
        }
        throw .invalidField(name, "\(name) is an unknown field; \(known)")
    }

    private static func readsLikeName(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            }
    }
}

extension AdminError {
    fileprivate init(_ fault: JSONFault, in whole: String) {
        switch fault {
        case .malformed(let offset):
            self = .invalidField(whole, "the \(whole) is not JSON from byte \(offset) on")
        case .tooDeep:
            self = .invalidField(whole, "the \(whole) is nested deeper than \(JSONScanner.deepest)")
        case .repeatedName:
            self = .invalidField(whole, "an object in the \(whole) has the same name twice")
        }
    }
}
