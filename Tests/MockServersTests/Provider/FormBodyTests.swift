import MockServers
import Testing

@Suite struct FormBodyTests {
    @Test func `fields are decoded, and empty fields count as missing`() throws {
        let form = try FormBody("a=1&b=x+y%26%C3%A9&c=&d&e=1=2&&")
        #expect(form["a"] == "1")
        #expect(form["b"] == "x y&é")
        #expect(form["c"] == nil)
        #expect(form["d"] == nil)
        #expect(form["e"] == "1=2")
        #expect(throws: GrantRefusal(.invalidRequest, "")) { try form.require("c") }
    }

    @Test(arguments: ["a=1&a=2", "a=1&%61=2", "a=%", "a=%4", "a=%4g", "a=%ff", "a=%+1", "a=&a=1"])
    func `an ambiguous or malformed form is refused`(text: String) {
        #expect(throws: GrantRefusal(.invalidRequest, "")) { try FormBody(text) }
    }
}
