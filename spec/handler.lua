-- handler.lua: output of the specs: busted's plain terminal and, as the last line of all, the
-- count in the form `N passed, N failed, N skipped`.
--
-- Holds: errors outside a test (a file that does not load) count as failed; the exit status is 1
--        when anything failed, however many (busted's own is the count, which wraps at 256).

local plain = require "busted.outputHandlers.plainTerminal"

return function(options)
  local busted = require "busted"
  local handler = plain(options)
  local passed, failed, skipped = 0, 0, 0

  local function add_run()
    passed = passed + handler.successesCount
    failed = failed + handler.failuresCount + handler.errorsCount
    skipped = skipped + handler.pendingsCount
    return nil, true
  end

  local function close()
    io.write(("%d passed, %d failed, %d skipped\n"):format(passed, failed, skipped))
    io.flush()
    if failed > 0 then os.exit(1, true) end
    return nil, true
  end

  busted.subscribe({ "suite", "end" }, add_run)
  busted.subscribe({ "exit" }, close)
  return handler
end
