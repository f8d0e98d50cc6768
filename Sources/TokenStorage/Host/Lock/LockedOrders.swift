internal import SystemSupport
package import TokenModel

/// What a locked gateway was told, for the time when it is unlocked: kills, which have no store to go to, and what
/// belongs into the audit log. It is kept in `state_dir/locked-orders`, one file for each, and survives a power loss.
///
/// Runs on a dispatch queue of its own, because its calls block.
package actor LockedOrders {
    private let executor = BlockingExecutor(label: "martlet.locked-orders")
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe self.executor.asUnownedSerialExecutor()
    }

    private let directory: String
    private let mostNotes: Int

    /// - Parameter mostNotes: the most notes that are kept. Those beyond are only counted.
    package init(in stateDirectory: String, mostNotes: Int = 1_000) {
        self.directory = "\(stateDirectory)/locked-orders"
        self.mostNotes = mostNotes
    }

    /// A kill as an entry of the kill log.
    package struct Kill: Equatable, Sendable {
        package let id: String
        package let bytes: Secret
        /// Who ordered it, and from where.
        package let requester: String?

        package init(id: String, bytes: Secret, requester: String?) {
            self.id = id
            self.bytes = bytes
            self.requester = requester
        }
    }

    /// What was read of ``AuditNote``s, to be removed by ``drop(_:)``.
    package struct Notes: Sendable {
        /// In the order in which they were added.
        package fileprivate(set) var notes: [AuditNote] = []
        /// How many are missing, because there was no room for more, or because a file is damaged.
        package fileprivate(set) var lost = 0
        fileprivate var names: [String] = []
    }

    private static let killPrefix = "kill-"
    private static let notePrefix = "note-"
    private static let lostName = "lost"

    // MARK: - Kills

    /// Adds a kill.
    ///
    /// - Throws: ``StoreError/Code/unwritable`` if it can't be kept.
    package func add(_ kill: Kill) throws(StoreError) {
        _ = try self.create(self.path(ofKill: kill.id), holding: kill.encoded())
    }

    /// The kills that were added and not dropped. For a damaged one, the reason why it can't be read.
    package func kills() throws(StoreError) -> [Result<Kill, StoreError>] {
        var kills: [Result<Kill, StoreError>] = []
        for name in try self.names() where name.hasPrefix(Self.killPrefix) {
            do throws(StoreError) {
                guard let bytes = try self.read(name) else { continue }
                kills.append(.success(try Kill(decoding: bytes)))
            } catch {
                kills.append(.failure(error))
            }
        }
        return kills
    }

    /// Removes a kill that is kept elsewhere.
    package func drop(kill id: String) { try? PrivateDirectory.remove(self.path(ofKill: id)) }

    private func path(ofKill id: String) -> String { "\(self.directory)/\(Self.killPrefix)\(id)" }

    // MARK: - Notes for the audit log

    /// Adds a note.
    ///
    /// - Throws: ``StoreError/Code/unwritable`` if it can be neither kept nor counted.
    package func add(_ note: AuditNote) throws(StoreError) {
        let names = try self.names().filter { $0.hasPrefix(Self.notePrefix) }
        guard names.count < self.mostNotes else { return try self.write(lost: self.lost() + 1) }
        var number = names.last.flatMap { UInt64($0.dropFirst(Self.notePrefix.count)) } ?? 0
        // Another process on this directory may take the number.
        repeat { number += 1 } while try !self.create(self.path(ofNote: number), holding: note.encoded())
    }

    /// The notes that were added and not dropped.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` where the directory can't be read.
    package func notes() throws(StoreError) -> Notes {
        var notes = Notes()
        notes.lost = self.lost()
        for name in try self.names() where name.hasPrefix(Self.notePrefix) {
            notes.names.append(name)
            if let bytes = try? self.read(name), let note = try? AuditNote(decoding: bytes) {
                notes.notes.append(note)
            } else {
                notes.lost += 1
            }
        }
        return notes
    }

    /// Removes notes that are in the audit log, with the count of those that are missing.
    package func drop(_ notes: Notes) {
        for name in notes.names + [Self.lostName] { try? PrivateDirectory.remove("\(self.directory)/\(name)") }
    }

    private func path(ofNote number: UInt64) -> String {
        // With zeros in front, the order of the names is that of the numbers.
        let digits = String(number)
        return "\(self.directory)/\(Self.notePrefix)\(String(repeating: "0", count: 20 - digits.count))\(digits)"
    }

    /// A damaged count says that at least one is missing.
    private func lost() -> Int {
        do throws(StoreError) {
            guard let bytes = try self.read(Self.lostName) else { return 0 }
            var reader = try FieldReader(bytes, formats: Self.format...Self.format)
            return Int(clamping: try reader.read(UInt64.self))
        } catch {
            return 1
        }
    }

    private func write(lost count: Int) throws(StoreError) {
        let writer = FieldWriter(format: Self.format)
        writer.write(UInt64(count))
        do throws(SystemCallError) {
            try WholeFile.replace(at: "\(self.directory)/\(Self.lostName)", with: KeptBytes.file(of: writer.finish()))
        } catch {
            throw StoreError(.unwritable, error.message)
        }
    }

    // MARK: - Files

    fileprivate static let format: UInt8 = 1

    private func names() throws(StoreError) -> [String] {
        do throws(SystemCallError) {
            return try PrivateDirectory.names(in: self.directory).filter { !$0.hasSuffix(".tmp") }
        } catch {
            guard !error.isMissing else { return [] }
            throw StoreError(.unreadable, "\(KeptBytes.Owner.lockedOrders.name): \(error.message)")
        }
    }

    private func read(_ name: String) throws(StoreError) -> Secret? {
        try KeptBytes.read("\(self.directory)/\(name)", limit: KeptSegment.sizeLimit, of: .lockedOrders)
    }

    /// - Returns: `false` where there is a file of that name.
    private func create(_ path: String, holding content: Secret) throws(StoreError) -> Bool {
        do throws(SystemCallError) {
            try PrivateDirectory.make(self.directory)
            return try WholeFile.create(at: path, holding: KeptBytes.file(of: content))
        } catch {
            throw StoreError(.unwritable, error.message)
        }
    }
}

/// Something that happened while there was no audit log to put it into.
package struct AuditNote: Equatable, Sendable {
    package let action: String
    package let outcome: String
    /// For people. Never contains a secret.
    package let detail: String?
    /// Who did it, and from where.
    package let requester: String?
    package let at: WallTime

    package init(action: String, outcome: String, detail: String? = nil, requester: String? = nil, at: WallTime) {
        self.action = action
        self.outcome = outcome
        self.detail = detail
        self.requester = requester
        self.at = at
    }
}

// MARK: - Encoding

extension LockedOrders.Kill {
    fileprivate func encoded() -> Secret {
        let writer = FieldWriter(format: LockedOrders.format)
        writer.write(self.id)
        writer.write(self.bytes)
        writer.write(self.requester) { writer.write($0) }
        return writer.finish()
    }

    fileprivate init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: LockedOrders.format...LockedOrders.format)
        self.id = try reader.read()
        self.bytes = try reader.read()
        self.requester = try reader.readOptional { reader throws(StoreError) in try reader.read() }
        try reader.finish()
    }
}

extension AuditNote {
    fileprivate func encoded() -> Secret {
        let writer = FieldWriter(format: LockedOrders.format)
        writer.write(self.action)
        writer.write(self.outcome)
        writer.write(self.detail) { writer.write($0) }
        writer.write(self.requester) { writer.write($0) }
        writer.write(self.at.millisecondsSince1970)
        return writer.finish()
    }

    fileprivate init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: LockedOrders.format...LockedOrders.format)
        self.action = try reader.read()
        self.outcome = try reader.read()
        self.detail = try reader.readOptional { reader throws(StoreError) in try reader.read() }
        self.requester = try reader.readOptional { reader throws(StoreError) in try reader.read() }
        self.at = WallTime(millisecondsSince1970: try reader.read())
        try reader.finish()
    }
}
