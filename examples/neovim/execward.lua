-- A client of execward for Neovim 0.7 or newer. Messages are lines of JSON.
--
-- It plays the scene that all examples play: it runs a command and prints the output as it comes,
-- answers a question, types into a terminal, and ends the server.
--
-- usage: nvim --headless -u NONE -c 'luafile execward.lua'        (the server: execward serve)
--        nvim --headless -u NONE --cmd 'let g:execward_command = ["SERVER", "COMMAND"]' \
--             -c 'luafile execward.lua'
--
-- jobstart() and not vim.lsp.rpc, whose functions take other arguments since Neovim 0.8.

local FOREVER = 2 ^ 31 - 1 -- of vim.wait, in ms

local function show(...)
  io.stdout:write(string.format(...))
  io.stdout:flush()
end

local Server = {}
Server.__index = Server

-- `answer` gets the params of a question and returns the answer.
function Server.start(command, answer)
  local self = setmetatable({ answer = answer, next_id = 1, replies = {}, calls = {}, stderr = '' }, Server)
  local unfinished = ''
  self.job = vim.fn.jobstart(command, {
    -- The first piece ends the line that the last piece of the call before began.
    on_stdout = function(_, pieces)
      pieces[1] = unfinished .. pieces[1]
      unfinished = table.remove(pieces)
      for _, line in ipairs(pieces) do
        self:take(vim.json.decode(line))
      end
    end,
    on_stderr = function(_, pieces)
      self.stderr = (self.stderr .. table.concat(pieces, '\n')):sub(-4096) -- the last words, should it die
    end,
    on_exit = function(_, status)
      self.status = status
    end,
  })
  if self.job <= 0 then
    error('cannot start ' .. command[1], 0)
  end
  return self
end

function Server:send(message)
  message.jsonrpc = '2.0'
  -- It may be gone already; then whoever waits is told.
  pcall(vim.fn.chansend, self.job, vim.json.encode(message) .. '\n')
end

function Server:notify(method)
  -- An empty Lua table would be sent as []. execward takes that for {}, others may not.
  self:send({ method = method, params = vim.empty_dict() })
end

-- Sends a request; `on_reply` gets its answer, which has a result or an error.
function Server:send_request(method, params, on_reply)
  local id = self.next_id
  self.next_id = id + 1
  self.replies[id] = on_reply
  self:send({ id = id, method = method, params = params or vim.empty_dict() })
end

function Server:take(message)
  local method, params = message.method, message.params
  if not method then
    local on_reply = self.replies[message.id]
    self.replies[message.id] = nil
    on_reply(message)
  elseif message.id then
    self:take_request(message.id, method, params)
  elseif self.calls[params.callId] then
    self.calls[params.callId](method, params)
  end
end

function Server:take_request(id, method, params)
  if method ~= 'approval/request' then
    return self:send({ id = id, error = { code = -32601, message = 'no such method' } })
  end
  local is_good, result = pcall(self.answer, params)
  if is_good then
    self:send({ id = id, result = result })
  else -- an error is a denial
    self:send({ id = id, error = { code = -32603, message = tostring(result) } })
  end
end

-- Waits until the condition holds. What the server says is taken meanwhile.
function Server:wait(condition)
  vim.wait(FOREVER, function()
    return condition() or self.status ~= nil
  end, 10)
  if not condition() then
    error(('the server ended with status %d; it said: %s'):format(self.status, self.stderr), 0)
  end
end

local function result_of(reply)
  if reply.error then
    error(reply.error.message, 0)
  end
  return reply.result
end

function Server:request(method, params)
  local reply
  self:send_request(method, params, function(message)
    reply = message
  end)
  self:wait(function()
    return reply
  end)
  return result_of(reply)
end

-- Starts a command. What it returns has two functions. `answer` waits for the answer, which can come
-- before the last output, and comes before the end if the program is slow. `ended` waits for the answer
-- and for the end of all that the call began, and returns the last exec/end, or the answer if nothing ran.
function Server:command(params, on_output)
  local reply, last_end
  local running = {} -- a second attempt is a second program
  local call_id = 'call-' .. self.next_id
  self.calls[call_id] = function(method, event)
    if method == 'exec/begin' then
      running[event.processId] = true
    elseif method == 'exec/outputDelta' then
      on_output(event.delta)
    elseif method == 'exec/end' then
      running[event.processId] = nil
      last_end = event
    end
  end
  self:send_request('exec/command', vim.tbl_extend('force', params, { callId = call_id }), function(message)
    reply = message
  end)

  local function answer()
    self:wait(function()
      return reply
    end)
    return result_of(reply)
  end
  local function ended()
    local answered = answer()
    self:wait(function()
      return next(running) == nil
    end)
    self.calls[call_id] = nil
    return last_end or answered
  end
  return { answer = answer, ended = ended }
end

-- Ends the server and all that it runs; returns its exit status.
function Server:close()
  self:request('shutdown')
  self:notify('exit')
  self:wait(function()
    return self.status
  end)
  return self.status
end

-- Shows a question. A real client lets a person choose; this one takes "run it this once".
local function approve(question)
  local display = question.display
  show('question: %s\n  in %s\n  because %s\n', display.command, display.workdir, display.reason)
  if display.justification then
    show('  the caller says: %s\n', display.justification)
  end
  for _, note in ipairs(display.notes) do
    show('  note: %s\n', note)
  end
  if display.hasInvisibleCharacters or display.hasMixedScripts then
    show('  WARNING: it has characters that are easily mistaken\n')
  end
  local decision = 'denied'
  for _, choice in ipairs(question.availableDecisions) do
    decision = choice.decision == 'approved' and 'approved' or decision
  end
  show('answer: %s\n', decision)
  return { decision = decision }
end

local function show_output(text)
  show('%s', text)
end

local function play(server)
  local info = server:request('initialize', {
    clientName = 'neovim-example',
    processId = vim.fn.getpid(),
    capabilities = { approvals = true, extensions = true },
  })
  server:notify('initialized')
  show('connected to %s\n', info.serverInfo.name)

  show('1. output as it comes\n')
  local ticks = 'mkdir -p execward-example; for n in 1 2 3; do echo "tick $n"; sleep 0.1; done'
  show('exit code %d\n', server:command({ command = ticks }, show_output).ended().exitCode)

  show('2. a question\n')
  local remove = { command = 'rm -rf execward-example', justification = 'The example is over.' }
  show('exit code %d\n', server:command(remove, show_output).ended().exitCode)

  show('3. a terminal\n')
  local greet = 'printf \'name? \'; read -r name; echo "hello, $name"'
  local call = server:command({ command = greet, tty = true, quietMs = 200 }, show_output)
  server:request('exec/writeStdin', { processId = call.answer().processId, chars = 'Ada\n' })
  show('exit code %d\n', call.ended().exitCode)

  local status = server:close()
  show('the server ended with status %d\n', status)
  return status
end

local is_good, status = pcall(function()
  return play(Server.start(vim.g.execward_command or { 'execward', 'serve' }, approve))
end)
if not is_good then
  io.stderr:write(tostring(status), '\n')
  status = 1
end
vim.cmd(status .. 'cquit') -- also ends the server, if it is still there: its stdin is closed
