import { createServer } from 'node:net'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { buffer, text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Executor, KernelChannel } from '../../../src/agent/executors/executor.ts'
import { isAlive, type ProcStat, scanProcesses } from '../../../src/agent/executors/process/proc-stat.ts'
import type { ExecRequest } from '../../../src/domain/agent/channel-protocol.ts'
import { eventually } from '../../support/eventually.ts'
import { type ExecutorFixture, kernelSpec, reaches } from './executor-subject.ts'

const SECRET = 'swordfish'
/** Prints where and as which user a program runs. */
const PLACE = `id -u; id -G; pwd; echo "$FOO $REPRISE_KERNEL_ID $HOME"; for each in mnt pid ipc; do readlink /proc/self/ns/$each; done
grep -E '^(Cap(Prm|Eff|Amb)|NoNewPrivs|Uid|Gid|Groups):' /proc/self/status; cat /proc/self/cgroup; ulimit -n; cat /proc/self/oom_score_adj; env | grep -c AGENTS_OWN`

export const request = (command: string[], more: Partial<ExecRequest> = {}): ExecRequest => ({
  kind: 'exec',
  command,
  tty: false,
  term: 'xterm',
  columns: 80,
  rows: 24,
  ...more,
})

async function ended({ stdin, stdout, stderr, ended: end }: KernelChannel, input?: string | Buffer) {
  stdin.end(input)
  const [out, errors, { exitCode }] = await Promise.all([
    buffer(stdout).catch(() => Buffer.alloc(0)),
    stderr && text(stderr),
    end,
  ])
  return { out, text: out.toString(), errors, exitCode }
}

/** Gathers what comes, for as long as it comes. */
export function listen({ stdout }: KernelChannel) {
  let heard = ''
  stdout.setEncoding('utf8').on('data', (more: string) => (heard += more))
  stdout.on('error', () => undefined)
  return {
    heard: () => heard,
    says: (what: string | RegExp) =>
      eventually(() => (typeof what === 'string' ? heard.includes(what) : what.test(heard)), {
        what: `it says ${what}`,
      }),
  }
}

/** The commands that these tests need from an executor. */
export interface ExecFixture extends ExecutorFixture {
  /** Says `port …`, and sends back what it gets there. */
  echoServer(): Promise<string[]>
}

/** Commands beside a kernel's own, and connections to its ports. */
export function execConformance(name: string, createFixture: () => Promise<ExecFixture>, fault: string | null): void {
  describe.skipIf(fault !== null)(`in a kernel of ${name}${fault === null ? '' : `: ${fault}`}`, () => {
    let fixture: ExecFixture
    let executor: Executor
    const open = () => fixture.create({ changed: () => undefined })

    beforeEach(async () => {
      process.env['AGENTS_OWN'] = 'secret'
      fixture = await createFixture()
      executor = open()
      await executor.recover()
    })
    afterEach(async () => {
      for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
      await eventually(() => executor.observe().length === 0)
      await executor.close()
      await fixture.dispose()
    })

    async function start(command: string[]) {
      const environ = [{ name: 'FOO', value: SECRET }]
      const spec = kernelSpec({ command, environ })
      executor.start(spec, 1)
      await reaches(executor, spec.kernelId, 'RUNNING')
      return spec.kernelId
    }

    const printed = async (kernelId: string) => (await executor.readLog(kernelId, 'STDOUT', 0, 65_536)).text

    test.each([false, true])(
      'a command has what the kernel has, and no more; after a restart of the agent: %j',
      async (again) => {
        const kernelId = await start(['sh', '-c', `(${PLACE}); sleep 1000`])
        const own = await eventually(async () => {
          const said = await printed(kernelId)
          return said.split('\n').length > 12 && said.trim().endsWith('\n0') && said
        })
        if (again) {
          await executor.close()
          executor = open()
          await executor.recover()
        }
        const {
          text: there,
          errors,
          exitCode,
        } = await ended(await executor.exec!(kernelId, 1, request(['sh', '-c', PLACE])))
        expect(errors).toBe('')
        expect(withoutGroups(there)).toBe(withoutGroups(own))
        expect(groupsOf(own)).toEqual(expect.arrayContaining(groupsOf(there)))
        expect(there).toContain(`${SECRET} ${kernelId}`)
        expect(exitCode).toBe(1)
      },
    )

    test('what it reads and writes is exact to the byte, and what it ends with is its own', async () => {
      const kernelId = await start(['sleep', '1000'])
      const bytes = Buffer.from(Array.from({ length: 1_000_000 }, (_, at) => (at * 7 + (at >> 8)) % 256))
      const { out, errors, exitCode } = await ended(
        await executor.exec!(kernelId, 1, request(['sh', '-c', 'cat; echo aside >&2; exit 42'])),
        bytes,
      )
      expect(out.equals(bytes)).toBe(true)
      expect({ errors, exitCode }).toEqual({ errors: 'aside\n', exitCode: 42 })
      const killed = await ended(await executor.exec!(kernelId, 1, request(['sh', '-c', 'kill -KILL $$'])))
      expect(killed.exitCode).toBe(137)
      const missing = await ended(await executor.exec!(kernelId, 1, request(['no-such-program'])))
      // 126 where a directory of the PATH is closed to the kernel's user.
      expect(missing.exitCode).toBeOneOf([126, 127])
      expect(missing.errors).toContain('no-such-program')
    })

    test('a terminal has its size, takes Ctrl-C, and gives the status on', async () => {
      const kernelId = await start(['sleep', '1000'])
      const program =
        'trap "echo interrupted" INT; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo terminal $TERM; while :; do read -r word || continue; [ $word = size ] && stty size; [ $word = end ] && exit 9; done'
      const terminal = { tty: true, columns: 101, rows: 33, term: 'vt220' }
      const channel = await executor.exec!(kernelId, 1, request(['sh', '-c', program], terminal))
      const heard = listen(channel)
      await heard.says('terminal vt220')
      // Engines set the size at some time after they were told to.
      const hasSize = (size: string) =>
        eventually(() => {
          channel.stdin.write('size\r')
          return heard.heard().includes(size)
        })
      await hasSize('33 101')
      // A shell that is just about to wait for input hears of a signal when something comes.
      await eventually(() => {
        channel.stdin.write('\x03')
        return heard.heard().includes('interrupted')
      })
      channel.resize!(55, 22)
      await hasSize('22 55')
      channel.stdin.write('end\r')
      expect((await channel.ended).exitCode).toBe(9)
      await channel.hangUp()
    })

    test('a terminal has no descriptors of another', async () => {
      const kernelId = await start(['sleep', '1000'])
      const first = await executor.exec!(kernelId, 1, request(['sleep', '1000'], { tty: true }))
      const second = await ended(
        await executor.exec!(kernelId, 1, request(['sh', '-c', 'readlink /proc/self/fd/* || :'], { tty: true })),
      )
      expect(second.text).not.toMatch(/ptmx/)
      await first.hangUp()
    })

    test('it is hung up when nobody is there any more, and killed if it does not mind that', async () => {
      const kernelId = await start(['sleep', '1000'])
      const stubborn = `: ${kernelId}; trap "" HUP; echo ready; while :; do sleep 0.1; done`
      const channel = await executor.exec!(kernelId, 1, request(['sh', '-c', stubborn], { tty: true }))
      await listen(channel).says('ready')
      const before = having(`: ${kernelId}`)
      expect(before).not.toEqual([])
      await channel.hangUp()
      await eventually(() => !before.some((each) => isAlive(each)))
    })

    test('it ends with the kernel, whatever it minds', async () => {
      const kernelId = await start(['sleep', '1000'])
      const channel = await executor.exec!(
        kernelId,
        1,
        request(['sh', '-c', 'trap "" HUP TERM; echo ready; while :; do sleep 0.1; done']),
      )
      await listen(channel).says('ready')
      executor.stop(kernelId, 1, 0)
      await reaches(executor, kernelId, 'EXITED')
      expect(await channel.ended).toMatchObject({ message: 'the kernel has ended' })
      await expect(executor.exec!(kernelId, 1, request(['true']))).rejects.toMatchObject({
        code: 'SESSION_NOT_RUNNING',
      })
    })

    test('a connection leads to a port of the kernel, and to no other', async () => {
      const listening = createServer().listen(0, '127.0.0.1')
      await once(listening, 'listening')
      const { port: others } = listening.address() as { port: number }
      const kernelId = await start(await fixture.echoServer())
      const port = await eventually(async () => Number(/port (\d+)/.exec(await printed(kernelId))?.[1] ?? 0) || null)
      // It may say the port before it listens there.
      const channel = await eventually(() =>
        executor.connect!(kernelId, 1, port).catch((error: { code?: string }) => {
          if (error.code === 'PORT_NOT_SERVED') return null
          throw error
        }),
      )
      expect((await ended(channel, 'to and fro')).text).toBe('to and fro')
      await expect(executor.connect!(kernelId, 1, others)).rejects.toMatchObject({ code: 'PORT_NOT_SERVED' })
      listening.close()
      await expect(executor.connect!(kernelId, 2, port)).rejects.toMatchObject({ code: 'SESSION_NOT_RUNNING' })
    })
  })
}

const withoutGroups = (place: string) => place.replace(/^Groups:.*$/m, '')

/** Its own group stands among the others or not. */
function groupsOf(place: string): string[] {
  const [, own = '', others = ''] = /^Gid:\t(\d+)[^]*^Groups:(.*)$/m.exec(place)!
  return [own, ...others.trim().split(/\s+/)].filter((group) => group !== '')
}

/** All that run with this word in their command. */
function having(word: string): ProcStat[] {
  return scanProcesses().filter(({ pid }) => commandOf(pid).includes(word))
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}
