import NIOCore
import Proxy
import TestKit
import Testing

/// Requests that leave the gateway, read by two readers that share nothing with the gateway's parser or with each
/// other.
@Suite struct DifferentialTests {
    private static let pipelines = 40

    @Test(arguments: [1, 2] as [UInt64])
    func `I9_ one request in is one request out, as llhttp and h11 read it, replays included`(seed: UInt64) async throws
    {
        var generator = RequestGenerator(seed: seed)
        let pipelines = (0..<Self.pipelines).map { _ in generator.pipeline() }
        let connections = try await self.record(pipelines)

        // Each reader finds on each connection exactly the requests that were sent, identified by their serials.
        let sent = Dictionary(uniqueKeysWithValues: pipelines.joined().map { ("\($0.serial)", $0) })
        let strict = try await H11Reader.read(connections.map { Array($0.requests.joined()) })
        try #require(strict.count == connections.count)
        var seen: [String: Int] = [:]
        for (connection, read) in zip(connections, strict) {
            #expect(connection.rest == 0)
            let tolerant = try LLHTTPReader.read(connection.requests.flatMap(Self.registered))
            try #require(tolerant.count == connection.requests.count)
            try #require(read.count == connection.requests.count)
            for (line, request) in zip(read, tolerant) {
                let original = try #require(sent[request.serial])
                seen[request.serial, default: 0] += 1
                var expected = original.read
                #expect(line == expected.description)
                expected.method = request.method == "PURGE" ? "PURGE" : expected.method
                #expect(request == expected)
            }
        }
        for request in sent.values { #expect(seen["\(request.serial)"] == (request.isReplayed ? 2 : 1)) }
        let replayed = sent.values.count { $0.isReplayed }
        #expect(replayed > 0)
        print("differential, seed \(seed): \(sent.count) requests, \(replayed) of them replayed")
    }

    /// The request with PURGE in place of a method that llhttp does not know. llhttp knows only registered methods.
    private static func registered(_ request: [UInt8]) -> [UInt8] {
        let method = String(decoding: request.prefix { $0 != 0x20 }, as: UTF8.self)
        guard ["x-custom", "M-SEARCH"].contains(method) else { return request }
        return Array("PURGE".utf8) + request.dropFirst(method.utf8.count)
    }

    /// Sends all pipelines through a gateway, and returns what arrived at the upstream.
    private func record(_ pipelines: [[GeneratedRequest]]) async throws -> [RecordingUpstream.Connection] {
        try await withRig { rig in
            let recorder = RecordingUpstream()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await recorder.run(rig.upstream) }
                group.addTask { try await self.renewTokens(rig) }
                for pipeline in pipelines { try await self.send(pipeline, to: rig) }
                group.cancelAll()
                while let outcome = await group.nextResult() {
                    if case .failure(let error) = outcome, !(error is CancellationError) { throw error }
                }
            }
            return recorder.connections.filter { !$0.requests.isEmpty }
        }
    }

    /// Installs the next generation whenever an upstream refuses a token.
    private func renewTokens(_ rig: Rig) async throws {
        for generation in 2... as PartialRangeFrom<UInt64> {
            let question = try await self.nextQuestion(rig)
            rig.install(.sample(generation))
            question.answer(.success(.sample(generation)))
        }
    }

    private func nextQuestion(_ rig: Rig) async throws -> ScriptedCredentials.Question {
        while true {
            do { return try await rig.credentials.questions.next("question") } catch is MissedDeadline { continue }
        }
    }

    /// Sends one caller's requests all at once, and reads their responses.
    private func send(_ pipeline: [GeneratedRequest], to rig: Rig) async throws {
        let caller = try await rig.caller()
        defer { caller.close() }
        async let sent: Void = caller.send(ByteBuffer(bytes: pipeline.flatMap(\.bytes)))
        for request in pipeline {
            var head = try await caller.head()
            if head.status == 100 { head = try await caller.head() }
            guard head.status == 200 else { throw WrongBytes("\(head.startLine) for the request \(request.serial)") }
            if request.method != "HEAD" { _ = try await caller.body(of: head) }
        }
        try await sent
    }
}
