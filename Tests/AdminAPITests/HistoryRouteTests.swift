internal import AdminAPI
internal import NIOHTTP1
internal import Testing
internal import TokenModel

/// The last hour of the process.
@Suite struct HistoryRouteTests {
    @Test func `a process that has just started has no samples`() async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.GET, "/v1/history")
            #expect(answer.status == 200)
            #expect(answer.body == "{\"interval_seconds\":15,\"samples\":[]}\n")
        }
    }

    @Test func `each sample has its end and its counts, the oldest first`() async throws {
        try await AdminFixture.run { admin in
            let start = WallTime(millisecondsSince1970: 1_763_683_200_123)
            let samples: [GatewayHistory.Sample] = [
                .init(
                    end: start,
                    requests: 90,
                    clientErrors: 4,
                    serverErrors: 5,
                    refreshes: 2,
                    refreshFailures: 1,
                    waiters: 7
                ),
                .init(
                    end: start.advanced(by: .seconds(40)),
                    requests: 0,
                    clientErrors: 0,
                    serverErrors: 0,
                    refreshes: 0,
                    refreshFailures: 0,
                    waiters: 0
                ),
            ]
            admin.monitor.change(history: GatewayHistory(interval: .seconds(15), samples: samples))
            let answer = try await admin.caller.send(.GET, "/v1/history")
            let first =
                #"{"at":"2025-11-21T00:00:00.123Z","client_errors":4,"refresh_failures":1,"refreshes":2,"requests":90,"#
                + #""server_errors":5,"waiters":7}"#
            let second =
                #"{"at":"2025-11-21T00:00:40.123Z","client_errors":0,"refresh_failures":0,"refreshes":0,"requests":0,"#
                + #""server_errors":0,"waiters":0}"#
            #expect(answer.body == #"{"interval_seconds":15,"samples":[\#(first),\#(second)]}"# + "\n")
        }
    }

    @Test func `the history needs a token, takes no query and can't be changed`() async throws {
        try await AdminFixture.run { (admin) async throws in
            #expect(try await admin.caller.send(.GET, "/v1/history", authorization: nil).status == 401)
            #expect(try await admin.caller.send(.GET, "/v1/history?since=0").problem == "invalid_field")
            #expect(try await admin.caller.send(.POST, "/v1/history").status == 405)
            #expect(try await admin.caller.send(.GET, "/v1/history/1").problem == "not_found")
        }
    }
}
