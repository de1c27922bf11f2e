package protocol

// LuaBeat writes a heartbeat unless somebody else holds the name. KEYS: holders,
// workers. ARGV: name, uid, boot, heartbeat JSON, milliseconds after which a
// silent holder has lost the name. It returns {1, Redis' clock in ms} or
// {0, clock, holder's "uid boot stamp"}. A higher boot of the same uid replaces a
// lower one at once; a lower boot never replaces a higher one.
const LuaBeat = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local cur = redis.call('HGET', KEYS[1], ARGV[1])
if cur then
  local uid, boot, stamp = string.match(cur, '^(%S+) (%d+) (%d+)$')
  if uid ~= ARGV[2] then
    if now - tonumber(stamp) < tonumber(ARGV[5]) then return {0, now, cur} end
  elseif tonumber(boot) > tonumber(ARGV[3]) then
    return {0, now, cur}
  end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. string.format('%d', now))
redis.call('HSET', KEYS[2], ARGV[1], ARGV[4])
return {1, now}
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
