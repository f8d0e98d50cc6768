import Settings
import Testing

@Suite struct WatchingSettingsTests {
    @Test func `by default, the log is JSON with an entry per request, and there is no metrics listener`() throws {
        let settings = try settings(of: SampleFile().text)
        #expect(settings.log == LogSettings(level: .info, format: .json, access: true))
        #expect(settings.metrics == nil)
    }

    @Test(arguments: [
        ("{ access: false }", LogSettings.Level.info, LogSettings.Format.json, false),
        ("{ format: text }", .info, .text, true),
        ("{ level: error, format: json, access: true }", .error, .json, true),
    ])
    func `each part of the log can be chosen`(
        log: String,
        level: LogSettings.Level,
        format: LogSettings.Format,
        access: Bool
    ) throws {
        let settings = try settings(of: SampleFile().adding("log: \(log)").text)
        #expect(settings.log == LogSettings(level: level, format: format, access: access))
    }

    @Test func `the summary says that there is no log entry per request`() throws {
        let lines = SettingsSummary(try settings(of: SampleFile().adding("log: { access: false, level: debug }").text))
            .lines
        #expect(lines.contains("log debug and above as json, no line per request"))
        #expect(!lines.contains { $0.hasPrefix("metrics") })
    }

    @Test(arguments: ["127.0.0.1:8082", "0.0.0.0:8082", "'[::]:0'"])
    func `metrics are served on any address`(address: String) throws {
        let settings = try settings(of: SampleFile().adding("metrics: { address: \(address) }").text)
        #expect(settings.metrics?.address.description == address.replacing("'", with: ""))
    }

    @Test(arguments: [
        ("metrics: {}", "12:1: metrics: address is missing"),
        ("metrics: { adress: 127.0.0.1:1 }", #"12:12: metrics.adress: unknown key, did you mean "address"?"#),
        ("metrics: { address: 127.0.0.1:8080 }", "12:21: metrics.address: is the address of listeners[0] too"),
        ("metrics: { address: 127.0.0.1:8081 }", "12:21: metrics.address: is the address of admin too"),
        (
            "metrics: { address: 8082 }",
            "12:21: metrics.address: expected an IP address and a port, such as 127.0.0.1:8080 or [::1]:8080"
        ),
        ("log: { access: yes }", "12:16: log.access: expected true or false, found text"),
        ("log: { format: xml }", "12:16: log.format: unknown value, there are json, text"),
    ])
    func `a fault in log or metrics is reported with its position`(line: String, fault: String) {
        #expect(faults(of: SampleFile().adding(line).text) == [fault])
    }

    @Test func `ports that the system chooses never collide`() {
        let lines = "admin: { address: 127.0.0.1:0 }\nmetrics: { address: 127.0.0.1:0 }"
        #expect(faults(of: SampleFile().adding(lines).text) == [])
    }
}
