import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openKernelCgroups } from '../../src/agent/executors/process/limits/kernel-cgroups.ts'
import { readAdminToken } from '../../src/cli/demo/server-process.ts'
import { createClient, type Client } from '../../src/client/node/index.ts'
import { skipReason, whyNotInstalled } from '../support/distribution.ts'
import { eventually } from '../support/eventually.ts'
import { type SpawnedProgram, spawnProgram } from '../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { MAIN } from '../support/programs/command-line.ts'

/**
 * What a MEMBER's sessions can do to the server and to other tenants, with real programs against a real server: as root
 * and as an ordinary user, with each isolation. Without isolation the same attacks succeed, which shows that they are
 * some.
 */

const ROOT = join(import.meta.dirname, '../..')
const AM_ROOT = process.getuid!() === 0
/** `nobody`: PostgreSQL insists that its user has a name. */
const ORDINARY = AM_ROOT ? 65_534 : process.getuid!()
const CANARY = 'canary-of-the-server'
const PROCESSES_MAX = 64

const GROUNDS = [
  { who: 'root', isolation: 'namespaces', reported: 'namespaces+user' },
  { who: 'root', isolation: 'user', reported: 'user' },
  { who: 'root', isolation: 'none', reported: 'none' },
  { who: 'an ordinary user', isolation: 'namespaces', reported: 'namespaces' },
  { who: 'an ordinary user', isolation: 'none', reported: 'none' },
] as const

function whyNot({ who, isolation }: (typeof GROUNDS)[number]): string | null {
  if (who === 'root' && !AM_ROOT) return skipReason('isolation', 'these tests do not run as root')
  if (who !== 'root' && AM_ROOT && !isReadableToAll(ROOT))
    return skipReason('isolation', 'other users cannot read this checkout')
  return isolation === 'namespaces' ? whyNotInstalled('bubblewrap') : null
}

function isReadableToAll(path: string): boolean {
  return path === '/' || ((statSync(path).mode & 0o005) === 0o005 && isReadableToAll(dirname(path)))
}

const LEAK = 'leak() { echo "LEAK $*"; }'
const DESCRIPTOR =
  'ls -l /proc/self/fd | grep -q "$RUN.*secret-descriptor" && leak descriptor of whoever started the server'

/**
 * Prints a line `LEAK …` for each attack that succeeds. Nothing else of its output matters. The last one can be its end:
 * the cgroup that it moves to may be another kernel's.
 */
const ATTACKS = `
${LEAK}
cat "$DATA/admin-token" >/dev/null && leak admin token
find "$RUN" /proc/*/root"$RUN" -name admin-token -readable | grep -q . && leak admin token found
find "$DATA" -name password -readable | grep -q . && leak database password
[ -n "$(ls "$DATA/postgres"/* )" ] && leak database files
grep -rqs "secret of the other tenant" "$DATA/agent" && leak work or output of another tenant
find "$DATA" -name spec.json -readable | grep -q . && leak specification of a kernel
grep -qsz "^CANARY=" /proc/[0-9]*/environ && leak environment of the server
for each in /proc/[0-9]*; do
  case $(readlink $each/exe) in */node) leak server can be traced ;; esac
  grep -qs "secret of the other tenant" $each/cwd/secret && leak work through /proc
done
[ "$SERVER" -gt 1 ] && kill -0 "$SERVER" && tr '\\0' ' ' <"/proc/$SERVER/cmdline" | grep -q reprise.mjs && leak server can be signalled
kill -0 "$OTHER" && tr '\\0' ' ' <"/proc/$OTHER/cmdline" | grep -q other-tenant && leak kernel of another tenant can be signalled
[ "$PPID" -gt 1 ] && kill -0 "$PPID" && [ "$(readlink /proc/$PPID/cwd)" != "" ] && [ ! "$PPID" = 1 ] && leak shim can be signalled
${DESCRIPTOR}
echo attacked >"$DATA/attacked" && leak data directory can be written
echo attacked >>"$DATA/agent/fence" && leak fence can be written
for each in "$DATA"/agent/kernels/*/; do echo attacked >"$each/attacked" && leak directory of a kernel can be written; done
grep -q "^NoNewPrivs:.1" /proc/self/status || leak privileges can be gained
grep "^Cap[PEA]" /proc/self/status | grep -qv ":.0*$" && leak capabilities
for each in $(find /sys/fs/cgroup -name cgroup.procs); do
  case $each in *$REPRISE_KERNEL_ID*) continue ;; esac
  { echo $$ >$each; } && leak cgroup can be left by $each && break
done
true
`

/**
 * What succeeds where nothing keeps kernels from it: every attack, so that its failure elsewhere means something. But no
 * kernel inherits a descriptor, whatever the isolation; there is a test that its attack is one.
 */
const WITHOUT_ISOLATION = [
  'admin token',
  'admin token found',
  'database password',
  'database files',
  'work or output of another tenant',
  'specification of a kernel',
  'environment of the server',
  'server can be traced',
  'work through /proc',
  'server can be signalled',
  'kernel of another tenant can be signalled',
  'shim can be signalled',
  'data directory can be written',
  'fence can be written',
  'directory of a kernel can be written',
  'privileges can be gained',
]

/** What an ordinary user may not do without any isolation either; and nobody where cgroups are not ours to write. */
const AS_ROOT = ['capabilities', ...(opensCgroups() ? ['cgroup can be left'] : [])]

function opensCgroups(): boolean {
  const groups = openKernelCgroups('/probe-of-the-hostile')
  groups?.close()
  return groups !== null
}

for (const ground of GROUNDS) {
  const { who, isolation, reported } = ground
  const reason = whyNot(ground)
  describe.skipIf(reason !== null)(
    `a hostile member: server of ${who}, isolation ${isolation}${reason ? `: ${reason}` : ''}`,
    () => {
      const uid = who === 'root' ? 0 : ORDINARY
      let root: string
      let dataDir: string
      let loader: string
      let server: SpawnedProgram
      let admin: Client
      let hostile: Client
      let other: Client
      let otherPid: number
      let otherSession: string

      beforeAll(async () => {
        root = await temporaryDirectory('hostile')
        dataDir = join(root, 'data')
        loader = join(root, 'loader')
        for (const path of [dataDir, loader]) mkdirSync(path)
        chmodSync(loader, 0o777)
        writeFileSync(join(root, 'secret-descriptor'), 'secret\n', { mode: 0o600 })
        for (const path of [dataDir, join(root, 'secret-descriptor')]) chownSync(path, uid, uid)
        server = await start()
        admin = createClient({ url: server.ready, token: await readAdminToken(dataDir) })
        hostile = createClient({ url: server.ready, token: await member('hostile') })
        other = createClient({ url: server.ready, token: await member('other') })
        const secret =
          'for at in /dev/stdout secret "$REPRISE_CHAIN_DIR/secret"; do echo "secret of the other tenant" >>"$at"; done'
        const { session } = await other.createSession({
          project: 'other',
          name: 'other',
          command: ['sh', '-c', `${secret}; sleep 1000; :`, 'other-tenant'],
        })
        otherSession = session.sessionId
        otherPid = await eventually(() => findProcess('\0other-tenant\0', `HOME=${dataDir}`) || null)
      })

      afterAll(async () => {
        // Kernels outlive their server.
        await other.terminateSession(otherSession, { force: true })
        await eventually(() => findProcess('\0other-tenant\0', `HOME=${dataDir}`) === 0)
        for (const client of [admin, hostile, other]) await client[Symbol.asyncDispose]()
        await server.stop()
      })

      function start(): Promise<SpawnedProgram> {
        const asUser = AM_ROOT && uid !== 0 ? ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'] : []
        const leaky = ['bash', '-c', `exec 251<${join(root, 'secret-descriptor')}; exec "$@"`, 'bash']
        return spawnProgram({
          through: [...asUser, ...leaky],
          args: [MAIN, 'serve'],
          environment: {
            CANARY,
            HOME: root,
            REPRISE_DATA_DIR: dataDir,
            REPRISE_PORT: '0',
            REPRISE_ISOLATION: isolation,
            REPRISE_KERNEL_PROCESSES: String(PROCESSES_MAX),
            REPRISE_SLOTS: 'cpu=8,mem=4g',
          },
          ready: /^reprise ready (http:\S+)$/,
        })
      }

      async function member(project: string): Promise<string> {
        await graphql(
          `
            mutation ($name: String!) {
              createProject(input: { name: $name }) {
                __typename
                ... on Error {
                  message
                }
              }
            }
          `,
          { name: project },
        )
        const data = await graphql(
          `
            mutation ($name: String!) {
              createToken(input: { name: $name, role: MEMBER, project: $name }) {
                ... on CreateTokenPayload {
                  secret
                }
                ... on Error {
                  message
                }
              }
            }
          `,
          { name: project },
        )
        return (data as { createToken: { secret: string } }).createToken.secret
      }

      async function graphql(query: string, variables: object): Promise<unknown> {
        const response = await fetch(`${server.ready}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${await readAdminToken(dataDir)}` },
          body: JSON.stringify({ query, variables }),
        })
        return ((await response.json()) as { data: unknown }).data
      }

      /** Runs to the end, and returns what it printed. */
      async function run(script: string, more: { retries?: number; environ?: Record<string, string> } = {}) {
        const environ = {
          DATA: dataDir,
          RUN: root,
          LOADER: loader,
          SERVER: String(server.pid),
          OTHER: String(otherPid),
          ...more.environ,
        }
        const { session } = await hostile.createSession({
          project: 'hostile',
          name: 'hostile',
          command: ['sh', '-c', `exec 2>/dev/null\n${script}`],
          environ: Object.entries(environ).map(([name, value]) => ({ name, value })),
          retryPolicy: { maxRetries: more.retries ?? 0, retryDelay: 0.05, jitter: 'NONE' },
        })
        const { attempts } = await hostile.waitForChain(session.sessionId)
        return { sessionId: session.sessionId, attempts, output: await outputOf(attempts.at(-1)!.sessionId) }
      }

      async function outputOf(sessionId: string): Promise<string> {
        const session = await hostile.session(sessionId)
        let text = ''
        for (const { kernelId } of session.kernels)
          for await (const chunk of hostile.kernelLogs(kernelId)) text += chunk.text
        return text
      }

      const leaks = (output: string) => output.split('\n').filter((line) => line.startsWith('LEAK'))

      test('the agent reports it', async () => {
        const data = await graphql('{ agents { edges { node { isolation } } } }', {})
        expect(data).toEqual({ agents: { edges: [{ node: { isolation: reported } }] } })
      })

      test('reads, signals, traces and writes nothing that is not its own', async () => {
        const { output } = await run(ATTACKS)
        if (isolation !== 'none') return expect(leaks(output)).toEqual([])
        const succeeded = leaks(output).map((line) => line.replace('LEAK ', '').replace(/(can be left) by .*/, '$1'))
        const expected = [...WITHOUT_ISOLATION, ...(uid === 0 ? AS_ROOT : [])]
        expect([...new Set(succeeded)].toSorted()).toEqual(expected.toSorted())
      })

      test('its environment reaches no program that has the rights of the server', async () => {
        // The loader of each program that gets these variables writes a file, as an LD_PRELOAD would run code.
        await run('/bin/true; true', { environ: { LD_DEBUG: 'libs', LD_DEBUG_OUTPUT: join(loader, 'trace') } })
        const owners = new Set(readdirSync(loader).map((name) => statSync(join(loader, name)).uid))
        if (isolation === 'none') expect(owners).toEqual(new Set([uid]))
        else expect(owners).not.toContain(uid)
      })

      test('what it leaves beside its control files neither holds the server nor shows a file', async () => {
        const script = `cd ..; rm -f stdout stderr; ln -s "$DATA/admin-token" stdout; for f in stop oom stop.new; do mkfifo $f; done; echo done; exec sleep 1000`
        const { session } = await hostile.createSession({
          project: 'hostile',
          name: 'pipes',
          command: ['sh', '-c', script],
          environ: [{ name: 'DATA', value: dataDir }],
        })
        await eventually(async () => (await hostile.session(session.sessionId)).status === 'RUNNING')
        await hostile.terminateSession(session.sessionId)
        await eventually(async () => (await hostile.session(session.sessionId)).status === 'TERMINATED', {
          withinMs: 120_000,
        })
        expect(await outputOf(session.sessionId)).not.toContain(
          readFileSync(join(dataDir, 'admin-token'), 'utf8').trim(),
        )
      })

      test('a daemon that it leaves is gone before its next attempt begins', async () => {
        const mark = `${process.pid}${Math.floor(performance.now())}`
        const script = `
        grep -qs "^sleep.77777.${mark}" /proc/[0-9]*/cmdline && echo "LEAK earlier attempt alive"
        (setsid sleep 77777.${mark} >/dev/null 2>&1 </dev/null &)
        sleep 0.2; exit 1`
        const { attempts } = await run(script, { retries: 2 })
        expect(attempts).toHaveLength(3)
        for (const attempt of attempts) expect(leaks(await outputOf(attempt.sessionId))).toEqual([])
        expect(findProcess(`sleep\x0077777.${mark}`, '')).toBe(0)
      })

      test.skipIf(reported === 'none' && uid !== 0)('cannot have more processes than it may', async () => {
        const count = PROCESSES_MAX + 40
        const script = `i=0; while [ $i -lt ${count} ]; do sleep 60 & i=$((i+1)); done; echo begun; sleep 0.1`
        const { output } = await run(`(${script}); echo "alive $(ls -d /proc/[0-9]* | wc -l)"; echo through`)
        const begun = output.includes('begun')
        expect(begun).toBe(false)
      })

      test('the server has survived all of it', async () => {
        expect(existsSync(`/proc/${server.pid}`)).toBe(true)
        expect((await run('echo fine')).output).toBe('fine\n')
      })
    },
  )
}

test('what whoever starts a server has open would be found', async () => {
  const root = await temporaryDirectory('hostile')
  writeFileSync(join(root, 'secret-descriptor'), 'secret\n')
  const leaky = `exec 251<"$RUN/secret-descriptor"; exec sh -c "$1"`
  const args = ['-c', leaky, 'bash', `${LEAK}\n${DESCRIPTOR}`]
  const output = execFileSync('bash', args, { env: { ...process.env, RUN: root }, encoding: 'utf8' })
  expect(output).toBe('LEAK descriptor of whoever started the server\n')
})

/** Returns the pid; 0 if there is none. */
function findProcess(commandLine: string, environment: string): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return Number(
    pids.find((pid) => read(pid, 'cmdline').includes(commandLine) && read(pid, 'environ').includes(environment)) ?? 0,
  )
}

function read(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1')
  } catch {
    return ''
  }
}
