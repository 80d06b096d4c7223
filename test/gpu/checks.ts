import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { systemProgram } from '../../src/machine/system-programs.ts'
import { allocates, COUNTS, dies, OPENS, TELLS } from './programs.ts'
import { output, type Session, type Subject } from './subject.ts'

const MIB = 1024 ** 2
const GIB = 1024 ** 3

/** A check returns what it has found, or throws an error that says what is wrong. */
export interface GpuCheck {
  name: string
  check(subject: Subject): Promise<string>
}

async function run(subject: Subject, gpus: number, command: readonly string[]): Promise<Session> {
  const session = await subject.ended(await subject.create(gpus, command))
  if (session.result !== 'SUCCESS')
    throw new Error(`${session.failureReason}: ${session.statusReason}; it wrote: ${lastLine(session)}`)
  return session
}

/** What a program says about its end, like the message below the lines of a traceback. */
const lastLine = (session: Session) => output(session).trim().split('\n').at(-1) || 'nothing'

function expect(is: boolean, words: string): void {
  if (!is) throw new Error(words)
}

const sorted = (names: readonly string[]) => names.toSorted().join(' ')

export const CHECKS: readonly GpuCheck[] = [
  {
    name: 'discovery',
    async check({ graphql, uuids }) {
      const { agents } = await graphql(
        '{ agents { edges { node { gpuFault gpus { uuid name memoryBytes fault } } } } }',
      )
      const { gpus, gpuFault } = agents.edges[0].node as { gpus: { uuid: string; name: string }[]; gpuFault: string }
      expect(gpuFault === null, gpuFault)
      const found = sorted(gpus.map(({ uuid }) => uuid))
      expect(found === sorted(uuids), `the agent has ${found || 'none'}, the driver ${sorted(uuids)}`)
      return gpus.map(({ name }) => name).join(', ')
    },
  },
  {
    name: 'assignment and environment',
    async check(subject) {
      const session = await run(subject, 1, TELLS)
      const [visible = '', told = '[]'] = output(session).split('\n')
      expect(subject.uuids.includes(visible), `CUDA_VISIBLE_DEVICES is "${visible}"`)
      expect(session.gpus[0]?.uuid === visible, `the session shows ${JSON.stringify(session.gpus)}`)
      const [own] = JSON.parse(told) as { uuid: string }[]
      expect(own?.uuid === visible, `REPRISE_GPUS is ${told}`)
      return visible
    },
  },
  {
    name: 'CUDA finds what was assigned',
    async check(subject) {
      const [one, none] = [await run(subject, 1, COUNTS), await run(subject, 0, COUNTS)].map((each) =>
        output(each).trim(),
      )
      expect(one === '1' && none === '0', `it finds ${one} with one GPU, and ${none} without`)
      return '1 with one GPU, 0 without'
    },
  },
  {
    name: 'enforcement',
    async check(subject) {
      const isClosed = subject.isolation.startsWith('namespaces')
      const opened = async (gpus: number) =>
        output(await run(subject, gpus, OPENS))
          .split('\n')
          .filter(Boolean)
      const [one, none] = [await opened(1), await opened(0)]
      if (!isClosed) return `assigned, not enforced: a session without GPUs opens ${none.length}`
      expect(one.length === 1 && none.length === 0, `it opens ${one.join(' ')} with one GPU, ${none.join(' ')} without`)
      return `${one[0]} with one GPU, none without`
    },
  },
  {
    name: 'peak memory',
    async check(subject) {
      const { gpuUsage } = await run(subject, 1, allocates(GIB, 14))
      const peak = gpuUsage?.peakMemoryBytes ?? 0
      expect(peak >= GIB, `${Math.round(peak / MIB)} MiB of at least 1024 MiB`)
      return `${Math.round(peak / MIB)} MiB, ${gpuUsage!.gpuSeconds.toFixed(0)} GPU s`
    },
  },
  {
    name: 'two sessions, one after the other',
    async check(subject) {
      const all = subject.uuids.length
      const ids = [await subject.create(all, allocates(GIB, 3)), await subject.create(all, allocates(GIB, 3))]
      const [first, second] = await Promise.all(ids.map((id) => subject.ended(id)))
      for (const each of [first!, second!]) expect(each.result === 'SUCCESS', `${each.statusReason}: ${lastLine(each)}`)
      const isApart = second!.startedAt! >= first!.terminatedAt! || first!.startedAt! >= second!.terminatedAt!
      expect(isApart, `they ran at the same time, from ${first!.startedAt} and ${second!.startedAt}`)
      return 'both succeeded, never at the same time'
    },
  },
  {
    name: 'release after kill -9',
    async check(subject) {
      const all = subject.uuids.length
      const killed = await subject.ended(await subject.create(all, dies(GIB)))
      expect(output(killed).includes('allocated'), `it wrote: ${lastLine(killed)}`)
      expect(killed.result === 'FAILURE', `it ended with ${killed.result}`)
      await run(subject, all, allocates(GIB, 1))
      const left = await computeApps()
      return `the next session got ${all === 1 ? 'it' : `all ${all}`}; programs left on GPUs: ${left}`
    },
  },
]

async function computeApps(): Promise<number> {
  const args = ['--query-compute-apps=pid', '--format=csv,noheader']
  const { stdout } = await promisify(execFile)(systemProgram('nvidia-smi'), args, { timeout: 15_000 })
  return stdout.split('\n').filter((line) => /^\d+/.test(line)).length
}
