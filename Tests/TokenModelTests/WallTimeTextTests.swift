import Foundation
import Testing
import TokenModel

@Suite struct WallTimeTextTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (1_763_683_200_123, "2025-11-21T00:00:00.123Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (1_709_164_799_000, "2024-02-28T23:59:59.000Z"),
            (1_709_251_199_000, "2024-02-29T23:59:59.000Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (.min, "0000-01-01T00:00:00.000Z"),
            (.max, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)]
    )
    func `a time is formatted in UTC with milliseconds`(milliseconds: Int64, text: String) {
        #expect(WallTime(millisecondsSince1970: milliseconds).rfc3339 == text)
    }

    /// The days of 2000, a leap year; of 2100, which is none; and of the years around them.
    @Test(arguments: [10_592, 47_117] as [Int64])
    func `every day around a turn of the century matches the calendar`(first: Int64) {
        let format = Date.ISO8601FormatStyle()
        for day in first..<first + 1_100 {
            let time = WallTime(millisecondsSince1970: day * 86_400_000)
            let expected = format.format(Date(timeIntervalSince1970: Double(day) * 86_400))
            #expect(time.rfc3339.prefix(10) == expected.prefix(10))
        }
    }
}
