import FoundationEssentials
import Properties
import Testing

/// Runs the seed inputs of the fuzzers, and the inputs that the fuzzers found.
@Suite struct CorpusTests {
    /// The stored inputs for a property, with the names of their files.
    static func corpus(of property: Property) throws -> [(name: String, bytes: [UInt8])] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Corpus/\(property.name)").path
        return try FileManager.default.contentsOfDirectory(atPath: folder).sorted().map { name in
            (name, Array(FileManager.default.contents(atPath: "\(folder)/\(name)") ?? Data()))
        }
    }

    @Test(arguments: Property.all.map(\.name))
    func `each property holds for its stored inputs`(name: String) throws {
        let property = try #require(Property.all.first { $0.name == name })
        let corpus = try Self.corpus(of: property)
        #expect(corpus.count >= 10)
        for (name, bytes) in corpus {
            do { try property.hold(for: bytes) } catch { Issue.record("\(property.name)/\(name): \(error)") }
        }
    }

    @Test(arguments: MutationTests.seeds)
    func `each property holds for mutations of its stored inputs`(seed: UInt64) throws {
        for property in Property.all {
            let corpus = try Self.corpus(of: property).map(\.bytes)
            var mutator = Mutator(seed: seed, corpus: corpus, words: MutationTests.words)
            for round in 0..<100 {
                let message = mutator.next()
                do { try property.hold(for: message) } catch {
                    Issue.record(
                        "\(property.name), seed \(seed), round \(round): \(error): \(text(message).debugDescription)"
                    )
                }
            }
        }
    }
}
