import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readSourceFiles, ROOT } from './source-files.ts'

describe('the text of the sources', async () => {
  const files = await readSourceFiles()

  function linesThatMatch(pattern: RegExp): string[] {
    return files.flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
    )
  }

  test('there is text to look at', () => {
    expect(files.length).toBeGreaterThan(50)
    expect(files.flatMap(({ comments }) => comments).length).toBeGreaterThan(100)
    expect(linesThatMatch(/^import /).length).toBeGreaterThan(files.length)
  })

  test('comments name no file: files move, and comments do not follow', () => {
    const naming = files.flatMap(({ path, comments }) =>
      comments
        .filter(({ value }) => /\bsrc\/|\btest\/|[\w-]\.(ts|mjs|js)\b/.test(value))
        .map(({ value }) => `${path}: ${value.trim()}`),
    )
    expect(naming).toEqual([])
  })

  test('nothing is left for later', () => {
    expect(linesThatMatch(/\b(TODO|FIXME|XXX|HACK)\b/)).toEqual([])
  })

  /** Files that mean the real time. */
  const REAL_TIME: Record<string, string> = {
    'src/store/postgres/schema-engine.ts':
      "the history of migrations is Prisma's, and older than the clock's functions",
  }

  test('statements take the time from reprise_now() and reprise_clock(), which tests can move', () => {
    const bare =
      /(^|[^.\w])(now|(clock|statement|transaction)_timestamp|timeofday)\(\)|\b(current|local)_(time|timestamp|date)\b/i
    const found = files.flatMap(({ path, text }) => (path.startsWith('src/store/') && bare.test(text) ? [path] : []))
    expect(found).toEqual(Object.keys(REAL_TIME))
    expect(linesThatMatch(/\breprise_now\(\)/).length).toBeGreaterThan(150)
  })

  test('no path of a developer’s machine', () => {
    expect(linesThatMatch(/['"`\s](\/home\/|\/Users\/|\/root\/|\/work\/)/)).toEqual([])
  })

  test('the first line of each integration test file describes it', async () => {
    const folder = join(ROOT, 'test/integration')
    const tests = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith('.test.ts'))
    expect(tests.length).toBeGreaterThan(50)
    const firstLines = tests.map(async (path) => [path, (await readFile(join(folder, path), 'utf8')).split('\n', 1)[0]])
    const silent = (await Promise.all(firstLines)).filter(([, line]) => !/^\/\*\* [A-Z].*\. \*\/$/.test(line!))
    expect(silent).toEqual([])
  })
})

/**
 * What a timer's callback throws, and what a promise rejects with that nobody waits for, ends the process with all that
 * it does. Callbacks of timers are `guarded`, or do nothing that can fail; promises that nobody waits for have a `catch`.
 */
describe('errors that nobody catches', async () => {
  /** Programs of a person, which may end; and programs in browsers. */
  const OF_PEOPLE = /^src\/(cli|client|ui)\//

  /** Timers whose callbacks resolve a promise, abort, set a variable or close something: none of that throws. */
  const HARMLESS: Record<string, number> = {
    'src/gateway/agent-api.ts': 1,
    'src/agent/executors/container/container-watch.ts': 1,
    'src/agent/executors/container/engine-contact.ts': 1,
    'src/agent/executors/container/engine/pull-image.ts': 2,
    'src/agent/executors/kernels/fetch-blob.ts': 1,
    'src/agent/executors/kernels/kernel-code.ts': 1,
    'src/agent/executors/kernels/send-blob.ts': 1,
    'src/agent/executors/noop-executor.ts': 4,
    'src/agent/executors/chain/pull-checkpoint.ts': 1,
    'src/agent/executors/chain/relay-checkpoint.ts': 1,
    'src/agent/executors/process/isolation/select-isolation.ts': 1,
    'src/agent/executors/slurm/watch/look-at-job.ts': 1,
    // `expire` is guarded where it is made.
    'src/agent/fence.ts': 1,
    // From `node:timers/promises`: awaited.
    'src/archive/pack-files.ts': 1,
    'src/archive/read-archive.ts': 1,
    'src/channel/web-socket-port.ts': 2,
    'src/program/command.ts': 1,
    'src/events/kernel-logs.ts': 1,
    'src/events/change-detector.ts': 1,
    'src/events/wake-exchange.ts': 1,
    'src/events/deliver-webhooks.ts': 1,
    'src/events/send-webhook.ts': 1,
    'src/graphql/execution/paced-answers.ts': 2,
    // Its argument is guarded.
    'src/graphql/transport/event-frames.ts': 1,
    'src/graphql/transport/websocket-sockets.ts': 3,
    'src/http/http-server.ts': 1,
    'src/http/request-limits.ts': 1,
    'src/http/static-answer.ts': 2,
    'src/http/tls-pair.ts': 1,
    'src/observability/process-events.ts': 1,
    'src/rest/serve-channels.ts': 1,
    'src/rest/wait.routes.ts': 1,
    'src/rest/event-stream.ts': 1,
    'src/services/agent/channels.ts': 1,
    'src/services/blob/s3-requests.ts': 1,
    'src/services/input/read-body.ts': 1,
    'src/services/next-turn.ts': 1,
    'src/store/postgres/schema-engine.ts': 1,
    'src/store/read-pool.ts': 1,
    'src/store/turns.ts': 1,
    'src/waiting/wake-signal.ts': 1,
  }

  /** Promises that never reject, by what they say of themselves or by what they are. */
  const NEVER_REJECTS: Record<string, number> = {
    // Catches all that it does.
    'src/agent/chain-reports.ts': 2,
    'src/agent/executors/container/container-executor.ts': 1,
    'src/agent/executors/container/container-watch.ts': 3,
    'src/channel/port-pair.ts': 4,
    'src/events/end-waits.ts': 3,
    'src/http/tls-pair.ts': 1,
    'src/services/access/authenticate.ts': 1,
    'src/graphql/graphql.ts': 1,
    // A port resolves whatever becomes of it.
    'src/agent/channels.ts': 2,
    'src/services/agent/channels.ts': 1,
    // A signal to stop.
    'src/program/run-agent.ts': 1,
    'src/program/serve.ts': 1,
  }

  const TIMER = /(?<![.\w])(?:setTimeout|setInterval|setImmediate)\(/g
  const FLOATING = /^\s*(?:.*(?:[{;]|\) |else |=> ))?void (\w[\w.?!]*)\(/gm
  const files = (await readSourceFiles()).filter(({ path }) => !OF_PEOPLE.test(path))

  /** The text of a call, to its closing bracket. */
  function callAt(text: string, start: number): string {
    let depth = 0
    for (let end = text.indexOf('(', start); end < text.length; end++) {
      if (text[end] === '(') depth++
      if (text[end] === ')' && --depth === 0) return text.slice(start, end + 1)
    }
    return text.slice(start)
  }

  /** The text of a call, and of those of its result: `.then(…).catch(…)`. */
  function chainAt(text: string, start: number): string {
    let whole = callAt(text, start)
    for (;;) {
      const next = /^\s*\.\w+\(/.exec(text.slice(start + whole.length))
      if (next === null) return whole
      whole += next[0].slice(0, -1)
      whole += callAt(text, start + whole.length)
    }
  }

  function counted(found: readonly string[]): Record<string, number> {
    return Object.fromEntries([...Map.groupBy(found, (path) => path)].map(([path, all]) => [path, all.length]))
  }

  test('callbacks of timers are guarded, or are known to be harmless', () => {
    const timers = files.flatMap(({ path, text }) =>
      [...text.matchAll(TIMER)].map(({ index }) => ({ path, call: callAt(text, index) })),
    )
    expect(timers.length).toBeGreaterThan(50)
    const open = timers.filter(({ call }) => !call.includes('guarded(')).map(({ path }) => path)
    expect(counted(open)).toEqual(HARMLESS)
  })

  test('promises that nobody waits for have a catch, or never reject', () => {
    const floating = files.flatMap(({ path, text }) =>
      [...text.matchAll(FLOATING)].map(({ index, 0: match, 1: name }) => {
        const start = index + match.lastIndexOf('void ')
        return { path, name: name!, statement: chainAt(text, start) }
      }),
    )
    const open = floating.filter(({ name, statement }) => isPromise(name) && !/\.catch\(/.test(statement))
    expect(counted(open.map(({ path }) => path))).toEqual(NEVER_REJECTS)
  })

  /** Others are calls whose result is of no interest. */
  function isPromise(name: string): boolean {
    return (
      !/\.(delete|set|off|on|once|push|write|kill|setAttributes|addLinks|orders\.push)$/.test(name) &&
      name !== 'prepare'
    )
  }
})
