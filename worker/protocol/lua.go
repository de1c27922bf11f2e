package protocol

// LuaBeat writes a heartbeat unless somebody else holds the name. KEYS: holders,
// workers, clock. ARGV: name, uid, boot, heartbeat JSON, milliseconds after which a
// silent holder has lost the name. It returns {1, Redis' clock in ms, stamp and ahead
// of KeyClock, both "" where no broker has looked yet} or {0, clock, holder's "uid
// boot stamp", holder's heartbeat}. A higher boot of the same uid replaces a lower
// one at once; a lower boot never replaces a higher one. A stamp that lies ahead of
// the clock is from before that was set back: the holder's silence counts anew.
const LuaBeat = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local cur = redis.call('HGET', KEYS[1], ARGV[1])
if cur then
  local uid, boot, stamp = string.match(cur, '^(%S+) (%d+) (%d+)$')
  if uid and uid ~= ARGV[2] then
    if tonumber(stamp) > now + 1000 then
      cur = uid .. ' ' .. boot .. ' ' .. string.format('%d', now)
      redis.call('HSET', KEYS[1], ARGV[1], cur)
      stamp = now
    end
    if now - tonumber(stamp) < tonumber(ARGV[5]) then
      return {0, now, cur, redis.call('HGET', KEYS[2], ARGV[1]) or ''}
    end
  elseif uid and tonumber(boot) > tonumber(ARGV[3]) then
    return {0, now, cur, redis.call('HGET', KEYS[2], ARGV[1]) or ''}
  end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. string.format('%d', now))
redis.call('HSET', KEYS[2], ARGV[1], ARGV[4])
local clock = redis.call('HMGET', KEYS[3], 'stamp', 'ahead')
return {1, now, clock[1] or '', clock[2] or ''}
`

// LuaProbe is a broker's write that is read back. KEYS: the broker's probe. ARGV: a
// word that no other write has. It returns {Redis' clock in ms, the word of the write
// before, "" if that is gone}.
const LuaProbe = `
local t = redis.call('TIME')
local was = redis.call('GET', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1], 'EX', 3600)
return {t[1] * 1000 + math.floor(t[2] / 1000), was or ''}
`

// LuaLeave removes a worker that ends in an orderly way, if it still holds its
// name. KEYS and ARGV as in LuaBeat, up to the boot.
const LuaLeave = `
local cur = redis.call('HGET', KEYS[1], ARGV[1])
if cur and string.find(cur, ARGV[2] .. ' ' .. ARGV[3] .. ' ', 1, true) == 1 then
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[1])
  return 1
end
return 0
`

// LuaStrike removes the heartbeat of a life that is over and settled, unless another
// life has the name by now. KEYS: holders, workers. ARGV: name, boot.
const LuaStrike = `
local cur = redis.call('HGET', KEYS[1], ARGV[1])
if cur and string.match(cur, '^%S+ (%d+) %d+$') ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
return 1
`

// LuaRemove removes a message from wherever asynq keeps what was taken out of a queue,
// and what the message held; one that asynq has put back into the queue meanwhile stays.
// KEYS: active, lease, retry, archived, the message. ARGV: its id. It returns whether it
// was there.
const LuaRemove = `
local there = redis.call('LREM', KEYS[1], 0, ARGV[1]) + redis.call('ZREM', KEYS[3], ARGV[1]) + redis.call('ZREM', KEYS[4], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
if there == 0 then return 0 end
redis.call('DEL', KEYS[5])
return 1
`
