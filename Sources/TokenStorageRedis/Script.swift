internal import TokenModel
internal import TokenStorage

/// The commands on records. All but the plain read are scripts in Lua, because several keys change or are read at one
/// moment.
///
/// A script's text is sent each time: it is shorter than most records, the server keeps it compiled, and there is no case
/// of a server that does not know its digest, as after each failover. Versions are compared as texts of eight bytes; Lua's
/// numbers have only 53 bits.
///
/// **No script makes more than one change.** A server logs a script with several as a transaction. If its user `default` is
/// off, as is good practice, and has no rights, the server drops each transaction when it loads its append-only file
/// (redis/redis#14541, valkey-io/valkey#3983): after a restart all records would be gone. So a key is put into the sorted set
/// before its record is written, and taken out after the record is removed; a key there without a record is skipped.
enum Script {
    /// The result of a script, its first element.
    enum Outcome: String {
        case done
        /// The record that is there follows.
        case conflict
        /// The mark is missing, or another one.
        case lost
        /// The key is not in the sorted set, so the record was not written.
        case unlisted
        /// What is there is not a record.
        case damaged
        /// There is nothing at the keys.
        case nothing
        /// Something else is at the keys.
        case other

        init?(_ reply: RESPValue) {
            guard let word = reply.elements?.first?.text, let outcome = Outcome(rawValue: word) else { return nil }
            self = outcome
        }
    }

    // MARK: - Opening

    /// Makes the mark where it is missing, if `mark` is not empty. Also tries every right that changes need, without
    /// changing anything: a script that lacks one in its middle leaves half a change.
    ///
    /// - Returns: the command; its reply has an ``Outcome``, and the mark that is there.
    static func prepare(_ layout: Layout, mark: [UInt8]) -> Command {
        self.command(Self.preparing, layout, [mark])
    }

    private static let preparing = """
        local mark = redis.call('HMGET', KEYS[1], '\\255')[1]
        if not mark then
            if redis.call('HLEN', KEYS[1]) > 0 or redis.call('ZCARD', KEYS[2]) > 0 then return {'other'} end
            if ARGV[1] == '' then return {'nothing'} end
        end
        redis.call('ZSCORE', KEYS[2], '\\255')
        redis.call('ZADD', KEYS[2], 'XX', 0, '\\255')
        redis.call('ZREM', KEYS[2], '\\255')
        redis.call('HDEL', KEYS[1], '\\254')
        if not mark then
            mark = ARGV[1]
            redis.call('HSET', KEYS[1], '\\255', mark)
        end
        return {'done', mark}
        """

    /// Writes the mark again. A `WAIT` behind it confirms all writes before it, of any connection.
    static func confirm(_ layout: Layout, mark: [UInt8]) -> Command { self.command(Self.confirming, layout, [mark]) }

    private static let confirming = """
        if redis.call('HMGET', KEYS[1], '\\255')[1] ~= ARGV[1] then return {'lost'} end
        redis.call('HSET', KEYS[1], '\\255', ARGV[1])
        return {'done'}
        """

    // MARK: - Records

    /// Reads the mark, and nothing else.
    static func readMark(_ layout: Layout) -> Command { Command(["HMGET", layout.records], [Layout.markField]) }

    /// Reads a record. The reply has the value, and the mark.
    static func read(_ layout: Layout, _ key: RecordKey) -> Command {
        Command(["HMGET", layout.records], [Array(key.rawValue.utf8), Layout.markField])
    }

    /// Puts the key of a record that is about to be written into the sorted set.
    static func list(_ layout: Layout, _ key: RecordKey, mark: [UInt8]) -> Command {
        self.command(Self.entering, layout, [mark, Array(key.rawValue.utf8)])
    }

    private static let entering = """
        if redis.call('HMGET', KEYS[1], '\\255')[1] ~= ARGV[1] then return {'lost'} end
        redis.call('ZADD', KEYS[2], 0, ARGV[2])
        return {'done'}
        """

    /// Takes the key of a record that was removed out of the sorted set, unless it was written anew.
    static func unlist(_ layout: Layout, _ key: RecordKey) -> Command {
        self.command(Self.leaving, layout, [Array(key.rawValue.utf8)])
    }

    private static let leaving = """
        if not redis.call('HMGET', KEYS[1], ARGV[1])[1] then redis.call('ZREM', KEYS[2], ARGV[1]) end
        return {'done'}
        """

    /// Writes a record as `version` if `expecting` is there.
    static func write(
        _ value: SealedBytes,
        _ layout: Layout,
        at key: RecordKey,
        as version: Version,
        expecting: Version?,
        mark: [UInt8]
    ) -> Command {
        let value = Layout.value(value, as: version)
        return self.change(layout, key, expecting, mark, [value])
    }

    /// Removes a record if `expecting` is there.
    static func remove(_ layout: Layout, _ key: RecordKey, expecting: Version, mark: [UInt8]) -> Command {
        self.change(layout, key, expecting, mark, [])
    }

    private static func change(
        _ layout: Layout,
        _ key: RecordKey,
        _ expecting: Version?,
        _ mark: [UInt8],
        _ value: [[UInt8]]
    ) -> Command {
        let arguments = [mark, Array(key.rawValue.utf8), expecting?.rawValue.bigEndianBytes ?? []]
        return self.command(Self.changing, layout, arguments + value)
    }

    /// Without a value, the record is removed.
    private static let changing = """
        local found = redis.call('HMGET', KEYS[1], ARGV[2], '\\255')
        if found[2] ~= ARGV[1] then return {'lost'} end
        local current = found[1]
        if current and #current < 8 then return {'damaged'} end
        if (current and string.sub(current, 1, 8) or '') ~= ARGV[3] then return {'conflict', current} end
        if ARGV[4] then
            if not redis.call('ZSCORE', KEYS[2], ARGV[2]) then return {'unlisted'} end
            redis.call('HSET', KEYS[1], ARGV[2], ARGV[4])
        else
            redis.call('HDEL', KEYS[1], ARGV[2])
        end
        return {'done'}
        """

    /// Tells the others of a change.
    static func publish(_ layout: Layout, _ change: RecordChange, by sender: UInt64, mark: [UInt8]) -> Command {
        Command(["PUBLISH", layout.channel], [Layout.hint(of: change, by: sender, mark: mark)])
    }

    /// A page. The reply has an ``Outcome``, and then keys and values by turns.
    static func page(
        _ layout: Layout,
        _ prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int,
        mark: [UInt8]
    ) -> Command {
        let bounds = prefix.bounds(after: after)
        let arguments = [
            mark, [UInt8(ascii: "[")] + bounds.start, [UInt8(ascii: "(")] + bounds.end, Array(String(limit).utf8),
        ]
        return self.command(Self.listing, layout, arguments)
    }

    /// Values are read sixteen at a time, so that one read beyond the page costs little, and none exceeds what Lua can
    /// unpack. Each field of the hash but the mark has its key in the sorted set. If there are more fields, a record is
    /// missing on some page, perhaps on this one.
    private static let listing = """
        if redis.call('HMGET', KEYS[1], '\\255')[1] ~= ARGV[1] then return {'lost'} end
        if redis.call('HLEN', KEYS[1]) > redis.call('ZCARD', KEYS[2]) + 1 then return {'damaged'} end
        local page, bytes, count, start, limit = {'done'}, 0, 0, ARGV[2], tonumber(ARGV[4])
        while count < limit do
            local keys = redis.call('ZRANGE', KEYS[2], start, ARGV[3], 'BYLEX', 'LIMIT', 0, limit - count)
            if #keys == 0 then return page end
            for first = 1, #keys, 16 do
                local values = redis.call('HMGET', KEYS[1], unpack(keys, first, math.min(first + 15, #keys)))
                for index, value in ipairs(values) do
                    if value then
                        if #value < 8 then return {'damaged'} end
                        bytes = bytes + #value - 8
                        if bytes > \(StoreGuarantees.largestPage) and count > 0 then return page end
                        count = count + 1
                        page[2 * count] = keys[first + index - 1]
                        page[2 * count + 1] = value
                    end
                end
            end
            start = '(' .. keys[#keys]
        end
        return page
        """

    private static func command(_ script: String, _ layout: Layout, _ arguments: [[UInt8]]) -> Command {
        Command(["EVAL", script, "2", layout.records, layout.keys], arguments)
    }
}
