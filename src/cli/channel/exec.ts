import process from 'node:process'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import { execInSession, type Channel } from './open-channel.ts'
import { act, describedCommand } from '../client-command.ts'
import { findSession, SESSION_ARGUMENT } from '../find/find-session.ts'
import { UsageError } from '../present-error.ts'

interface ExecOptions {
  kernel?: string
  stdin: boolean
  tty?: boolean
}

export function execCommand(): Command {
  const command = describedCommand('exec', 'run a command in a running session, beside its own', [
    'reprise exec nightly -- sh',
    'reprise exec nightly --kernel main1 -- ps ax',
    'reprise exec nightly --no-stdin -- env > variables.txt',
  ])
    .argument('<session>', SESSION_ARGUMENT)
    .argument('[command...]', 'command to run, after --')
    .option('--kernel <name>', 'in this kernel: main1, sub1, …; the default is the first')
    .option('-i, --stdin', 'pass the standard input on (the default)', true)
    .option('--no-stdin', 'leave the standard input alone')
    .option('-t, --tty', 'in a terminal; the default if standard input and output are one')
    .option('--no-tty', 'not in a terminal: standard output and error stay apart, byte by byte')
  return act<ExecOptions>(
    command,
    async ({ client, server, out, signal }, { kernel, stdin, tty: wanted }, [session, ...words]) => {
      if (words.length === 0) throw new UsageError('Which command? It stands after --.')
      const tty = wanted ?? (stdin && process.stdin.isTTY && process.stdout.isTTY)
      const sessionId = await findSession(client, session!)
      const { columns, rows } = process.stdout
      const term = process.env['TERM'] || undefined
      const channel = await execInSession(server, { sessionId, kernel, command: words, tty, term, columns, rows })
      const giveBack = tty ? takeTerminal(channel) : () => {}
      const interrupt = () => channel.signal('SIGINT')
      signal.addEventListener('abort', interrupt, { once: true })
      try {
        if (stdin) process.stdin.pipe(channel.stdin)
        else channel.stdin.end()
        const options = { end: false }
        const [{ exitCode, message }] = await Promise.all([
          channel.ended,
          pipeline(channel.stdout, process.stdout, options),
          pipeline(channel.stderr, process.stderr, options),
        ])
        giveBack()
        if (message !== undefined) out.note(message)
        return exitCode ?? 0
      } finally {
        giveBack()
        signal.removeEventListener('abort', interrupt)
        process.stdin.unpipe(channel.stdin)
        process.stdin.destroy()
        channel.close()
      }
    },
    { endsItself: true },
  )
}

/** Every key is for the other side, Ctrl-C too. @returns what gives the terminal back; called at each end */
function takeTerminal(channel: Channel): () => void {
  const { stdin, stdout } = process
  const resize = () => channel.resize(stdout.columns, stdout.rows)
  const restore = () => void (stdin.isTTY && stdin.setRawMode(false))
  stdout.on('resize', resize)
  process.on('exit', restore)
  if (stdin.isTTY) stdin.setRawMode(true)
  // It may have changed while the channel was opened.
  if (stdout.isTTY) resize()
  return () => {
    stdout.off('resize', resize)
    process.off('exit', restore)
    restore()
  }
}
