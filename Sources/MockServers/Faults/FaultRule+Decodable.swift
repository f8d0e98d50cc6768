internal import NIOCore

extension FaultRule: Decodable {
    /// Reads one rule. An unknown key, unit, status or header name is an error that names it, because a fault that
    /// silently does nothing makes a test pass for the wrong reason.
    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: JSONKey.self)
        try values.refuseKeys(besides: Self.keys)
        let times = try values.decodeIfPresent(Int.self, forKey: "times") ?? 1
        guard times >= 0 else {
            throw values.fault("must be 0 (until replaced) or more", at: "times")
        }
        self.init(
            on: try values.decode(FaultPoint.self, forKey: "on"),
            path: try values.decodeIfPresent(String.self, forKey: "path"),
            times: times,
            delay: try values.duration("delay"),
            delayAnswer: try values.duration("delay_answer"),
            drop: try values.decodeIfPresent(FaultDrop.self, forKey: "drop"),
            response: try Self.response(values)
        )
    }

    private static let keys = [
        "on", "path", "times", "delay", "delay_answer", "status", "headers", "body", "drop",
    ]

    private static func response(_ values: KeyedDecodingContainer<JSONKey>) throws -> MockResponse? {
        let status = try values.decodeIfPresent(Int.self, forKey: "status")
        let body = try values.decodeIfPresent(String.self, forKey: "body")
        let fields = try Self.fields(values)
        guard status != nil || body != nil || fields != nil else { return nil }
        guard (200...599).contains(status ?? 200) else {
            throw values.fault("must be from 200 to 599", at: "status")
        }
        var response = MockResponse(status: status ?? 200, fields: fields ?? [])
        if let body {
            response.body = .whole(ByteBuffer(string: body))
            if !response.has("Content-Type") {
                response.fields.append(HeaderField("Content-Type", "application/json"))
            }
        }
        return response
    }

    /// Headers are an object, or a list of pairs if a name occurs twice.
    private static func fields(_ values: KeyedDecodingContainer<JSONKey>) throws -> [HeaderField]? {
        guard values.contains("headers") else { return nil }
        let fields: [HeaderField]
        if let object = try? values.decode([String: String].self, forKey: "headers") {
            fields = object.sorted { $0.key < $1.key }.map { HeaderField($0.key, $0.value) }
        } else if let pairs = try? values.decode([[String]].self, forKey: "headers"),
            pairs.allSatisfy({ $0.count == 2 })
        {
            fields = pairs.map { HeaderField($0[0], $0[1]) }
        } else {
            throw values.fault(#"must be an object of strings or a list of ["name", "value"] pairs"#, at: "headers")
        }
        for field in fields where !field.isValid {
            throw values.fault("is not a header that HTTP can carry", at: JSONKey(field.name))
        }
        return fields
    }
}
