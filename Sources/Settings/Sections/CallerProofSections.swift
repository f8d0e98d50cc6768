/// The keys of a caller's `certificate`.
enum CallerCertificateKey: String, Vocabulary {
    case subject, san
}

/// The keys of a caller's `peer`.
enum PeerKey: String, Vocabulary {
    case uid, gid
}

extension CertificateNameSettings {
    init?(_ place: Place) {
        guard let section = Section<CallerCertificateKey>(place) else { return nil }
        let subject = section.read(.subject) { $0.parsed("a subject", by: CertificateNameSettings.subject(printed:)) }
        let name = section.read(.san) { $0.parsed("a name", by: CertificateNameSettings.alternative) }
        switch (section.has(.subject), section.has(.san)) {
        case (false, false): section.missing("needs subject or san")
        case (true, true): section[.subject]?.faultAtKey("has no place beside san: one of them says who it is")
        case (true, false), (false, true): break
        }
        guard let known = name ?? subject else { return nil }
        self = known
    }
}

extension PeerSettings {
    init?(_ place: Place) {
        guard let section = Section<PeerKey>(place) else { return nil }
        // The kernel uses the largest value for "nobody".
        let range = 0...Int(UInt32.max) - 1
        self.user = section.read(.uid) { $0.count(in: range) }.map { UInt32($0) }
        self.group = section.read(.gid) { $0.count(in: range) }.map { UInt32($0) }
        if !section.has(.uid), !section.has(.gid) { section.missing("needs uid or gid") }
        guard self.user != nil || self.group != nil else { return nil }
    }
}
