internal import TextCoding

/// Reads the members of a control body. Each error names its member.
extension KeyedDecodingContainer<JSONKey> {
    /// Throws if the object has a member that is not among `keys`.
    func refuseKeys(besides keys: [String]) throws {
        for key in self.allKeys where !keys.contains(key.stringValue) {
            throw self.fault("unknown key, only these are known: \(keys.joined(separator: ", "))", at: key)
        }
    }

    /// A text of at least one character, or nil if there is none.
    func text(_ key: JSONKey) throws -> String? {
        let text = try self.decodeIfPresent(String.self, forKey: key)
        guard text?.isEmpty != true else { throw self.fault("must not be empty", at: key) }
        return text
    }

    /// A whole number from 0 to 86,400, which is a day of seconds.
    func number(_ key: JSONKey) throws -> Int? {
        guard let number = try self.decodeIfPresent(Int.self, forKey: key) else { return nil }
        guard (0...86_400).contains(number) else { throw self.fault("must be from 0 to 86400", at: key) }
        return number
    }

    /// A duration like `"3s"`. Zero if there is none.
    func duration(_ key: JSONKey) throws -> Duration {
        guard let text = try self.decodeIfPresent(String.self, forKey: key) else { return .zero }
        guard let duration = DurationText.parse(text) else {
            throw self.fault(#"is not a duration like "500ms" or "3s""#, at: key)
        }
        return duration
    }

    /// The error that says `what` of the member `key`.
    func fault(_ what: String, at key: JSONKey) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: self.codingPath + [key], debugDescription: what))
    }
}
