#if DEBUG
    import Testing
    import TokenRefresh

    @Suite struct FailpointConfigurationTests {
        @Test func `a step without a failpoint triggers nothing`() throws {
            var plan = try FailpointConfiguration("after_claim=kill")

            #expect(plan.reach(.beforeClaim) == nil)
            #expect(plan.reach(.afterClaim) == .kill)
            #expect(plan.reach(.afterClaim) == .kill)
        }

        @Test func `a failpoint with a number fires only when its step is reached for that time`() throws {
            var plan = try FailpointConfiguration(
                "before_read=stop@2;after_commit=pause:1500ms@1;before_read=pause:3s@3"
            )

            #expect((1...4).map { _ in plan.reach(.beforeRead) } == [nil, .stop, .pause(.seconds(3)), nil])
            #expect((1...2).map { _ in plan.reach(.afterCommit) } == [.pause(.milliseconds(1_500)), nil])
        }

        @Test func `a failpoint with a probability fires reproducibly per seed and about as often as set`() throws {
            func falls(_ seed: Int) throws -> [Bool] {
                var plan = try FailpointConfiguration("sending=kill%0.25;seed=\(seed)")
                return (0..<400).map { _ in plan.reach(.sending) != nil }
            }

            #expect(try falls(7) == falls(7))
            #expect(try falls(7) != falls(8))
            #expect((60...140).contains(try falls(7).count { $0 }))
        }

        @Test(arguments: [
            "nowhere=kill", "after_claim", "after_claim=", "after_claim=die", "after_claim=pause",
            "after_claim=pause:3",
            "after_claim=kill@0", "after_claim=kill@x", "after_claim=kill%2", "seed=x",
        ])
        func `a mistake in the text is an error and is not ignored`(item: String) {
            #expect(throws: FailpointConfiguration.Mistake(item: item)) {
                try FailpointConfiguration("before_read=stop;\(item)")
            }
        }
    }
#endif
