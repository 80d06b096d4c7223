import process from 'node:process'
import { Command } from 'commander'
import {
  type Client,
  type NodeClient,
  createClient,
  findServer,
  type FoundServer,
  profilesPath,
  type Progress,
  readEnvironment,
  readProfiles,
} from '../client/node/index.ts'
import { messageOf } from '../observability/error-message.ts'
import { listenForStop } from '../observability/process-events.ts'
import { exitStatus } from './exit-codes.ts'
import { createOutput, type Output } from './output/output.ts'
import type { Column } from './output/table.ts'
import { presentError } from './present-error.ts'

/** The context of every command that talks to a server. */
export interface ClientContext {
  client: NodeClient
  server: FoundServer
  out: Output
  /** Aborts on Ctrl-C. */
  signal: AbortSignal
}

interface ConnectionOptions {
  url?: string[]
  token?: string
  profile?: string
  json?: boolean
}

/**
 * Time for which a request without a response is repeated: for a single request, and for commands that follow
 * something.
 */
const ASK_SECONDS = 4
const FOLLOW_SECONDS = 600

/** Creates a command with a description and examples, one per line as `command # what it does`. */
export function describedCommand(name: string, description: string, examples: readonly string[]): Command {
  const command = new Command(name).description(description)
  return examples.length === 0
    ? command
    : command.addHelpText('after', `\nExamples:\n${examples.map((line) => `  $ ${line}`).join('\n')}`)
}

/** Adds the options that select the server and the output format. */
export function withConnection(command: Command): Command {
  return command
    .optionsGroup('Connection and output:')
    .option('--url <url>', 'server (REPRISE_URL); may be repeated for several on one database', collect)
    .option('--token <token>', 'token (REPRISE_TOKEN); other users of this machine can then see it')
    .option('--profile <profile>', 'profile to take server and token from (REPRISE_PROFILE)')
    .option('--json', 'print JSON: one document, or one per line for a stream')
}

/**
 * Runs the action of a command with a client that is closed afterwards. The action may return an exit status; otherwise
 * the status is 0. `follow`: the command runs for long, maybe only with some options, and waits for servers that
 * restart. `endsItself`: the command has work to do after Ctrl-C; otherwise Ctrl-C ends all calls at once.
 */
export function act<Options extends object>(
  command: Command,
  work: (context: ClientContext, options: Options, args: string[]) => Promise<number | void>,
  {
    follow = false,
    endsItself = false,
  }: { follow?: boolean | ((options: Options) => boolean); endsItself?: boolean } = {},
): Command {
  return withConnection(command).action(async () => {
    // Options that a command shares with the one above it, such as --json, are read there.
    const options = command.optsWithGlobals<Options & ConnectionOptions>()
    const out = createOutput(options.json ?? false)
    let server: FoundServer | undefined
    const interrupted = new AbortController()
    const stopListening = listenForStop(() => interrupted.abort())
    try {
      server = serverOf(options)
      await using client = createClient({
        urls: server.urls.map(({ href }) => href),
        token: server.token,
        retry: networkRetry(typeof follow === 'boolean' ? follow : follow(options)),
        onProgress: showWaiting(out),
      })
      if (!endsItself) interrupted.signal.addEventListener('abort', () => void client.close(), { once: true })
      const context = { client, server, out, signal: interrupted.signal }
      process.exitCode = (await work(context, options, argumentsOf(command))) ?? 0
    } catch (error) {
      process.exitCode = interrupted.signal.aborted ? exitStatus('INTERRUPTED') : printError(error, server, out)
    } finally {
      stopListening()
    }
  })
}

/** Runs a command without its own options that shows a table of all rows that `read` returns. */
export function actAsList<Row>(
  command: Command,
  read: (client: Client, options: { signal: AbortSignal }) => AsyncIterable<Row> | Promise<readonly Row[]>,
  columns: readonly Column<Row>[],
  empty: string,
): Command {
  return act(command, async ({ client, out, signal }) => {
    const rows = await read(client, { signal })
    await out.table(Symbol.asyncIterator in rows ? await takeAll(rows) : rows, columns, empty)
  })
}

/** Shows the first `limit` rows as a table, and reports if there are more. A limit of 0 means all. */
export async function showFirst<Row>(
  out: Output,
  { limit, of }: { limit: number; of: AsyncIterable<Row> },
  columns: readonly Column<Row>[],
  empty: string,
): Promise<void> {
  const { items, more } = await take(of, limit)
  await out.table(items, columns, empty)
  if (more) out.note(`more than ${items.length}: --limit shows more`)
}

/** Runs a command that changes the one object that its argument names, and shows the result. */
export function actOnOne<Result, Options extends object = object>(
  command: Command,
  change: (client: Client, argument: string, options: Options) => Promise<Result>,
  words: (result: Result) => string,
): Command {
  return act<Options>(command, async ({ client, out }, options, [argument]) => {
    const result = await change(client, argument!, options)
    out.show(result, () => words(result))
  })
}

/** Runs the action of a command that needs no server. */
export function actHere<Options extends object>(
  command: Command,
  work: (out: Output, options: Options, args: string[]) => Promise<number | void>,
): Command {
  return command.option('--json', 'print JSON').action(async () => {
    const options = command.opts<Options & { json?: boolean }>()
    const out = createOutput(options.json ?? false)
    try {
      process.exitCode = (await work(out, options, argumentsOf(command))) ?? 0
    } catch (error) {
      process.exitCode = printError(error, undefined, out)
    }
  })
}

/** Returns the given arguments, in their order. */
function argumentsOf(command: Command): string[] {
  return command.processedArgs.flat().filter((argument): argument is string => typeof argument === 'string')
}

/**
 * Separates the arguments of a command into names and the program to run. A program begins after `--`; without `--`, it
 * begins after the first argument.
 */
export function programAfterDashes(command: Command, args: readonly string[]): { names: string[]; program: string[] } {
  let root = command
  while (root.parent !== null) root = root.parent
  // Commander removes `--`, but keeps the words as they were typed.
  const { rawArgs = [] } = root as { rawArgs?: string[] }
  const dashes = rawArgs.indexOf('--')
  const begin = dashes === -1 ? 1 : args.length - (rawArgs.length - dashes - 1)
  // Of several words before `--`, only the first is a name.
  const names = args.slice(0, Math.min(begin, 1))
  return { names, program: args.slice(names.length) }
}

export function serverOf({ url, token, profile }: ConnectionOptions): FoundServer {
  const environment = readEnvironment(process.env, () => {})
  return findServer({ urls: url, token, profile }, environment, () => readProfiles(profilesPath(process.env)))
}

export function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value]
}

/** Returns retry settings. Those of the environment take precedence over those that suit the command. */
function networkRetry(follow: boolean) {
  if (process.env['REPRISE_NETWORK_RETRY_SECONDS']?.trim()) return undefined
  return { network: { stopAfterSeconds: follow ? FOLLOW_SECONDS : ASK_SECONDS } }
}

function showWaiting(out: Output): (progress: Progress) => void {
  let last = ''
  return (progress) => {
    const message = messageOf(progress.error)
    if (message === last || progress.delaySeconds === 0) return
    last = message
    out.note(out.notes.style('dim', `${message}; trying again`))
  }
}

/** Prints the error; returns the exit status. */
function printError(error: unknown, server: FoundServer | undefined, out: Output): number {
  const { status, ...presented } = presentError(error, server)
  if (out.json) {
    out.note(JSON.stringify({ error: presented }))
    return status
  }
  const { code, message, advice, requestId } = presented
  out.note(`${out.notes.style('red', 'error')}: ${message}${/^(USAGE|FAILED)$/.test(code) ? '' : ` (${code})`}`)
  for (const line of advice) out.note(`  ${line}`)
  if (requestId !== undefined) out.note(`  The server’s log has more under request ${requestId}.`)
  return status
}

/** Returns the first `limit` items; 0 means all. */
export async function take<Item>(
  source: AsyncIterable<Item>,
  limit: number,
): Promise<{ items: Item[]; more: boolean }> {
  const items: Item[] = []
  for await (const item of source) {
    if (limit > 0 && items.length === limit) return { items, more: true }
    items.push(item)
  }
  return { items, more: false }
}

export async function takeAll<Item>(source: AsyncIterable<Item>): Promise<Item[]> {
  return (await take(source, 0)).items
}

/** The largest number of ids in one filter. */
const IDS_MAX = 100

/** Splits ids into lists that fit into one filter each. */
export function chunks<Item>(items: readonly Item[], size = IDS_MAX): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size))
}
