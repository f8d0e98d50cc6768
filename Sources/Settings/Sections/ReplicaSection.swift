/// The keys of `replica`.
enum ReplicaKey: String, Vocabulary {
    case name, lease
}

extension ReplicaSettings {
    init(_ section: Section<ReplicaKey>) {
        self.name = section.read(.name) { place in
            guard let name = place.text() else { return nil }
            do throws(ValueError) { try ConfiguredName.check(name) } catch { place.fault(error.message) }
            return name
        }
        self.lease = section.read(.lease) { $0.duration(in: .seconds(1) ... .seconds(300)) } ?? .seconds(10)
    }
}
