import { type Isolation, NO_ISOLATION } from '../../../src/agent/executors/process/isolation/isolation.ts'
import { findIsolation } from '../../../src/agent/executors/process/isolation/select-isolation.ts'

/** The ways in which this executor can keep kernels apart, as root and as an ordinary user. */
export const ARRANGEMENTS = [
  'none',
  'user',
  'namespaces by bubblewrap',
  'namespaces by unshare',
  'namespaces+user by bubblewrap',
  'namespaces+user by unshare',
] as const

export type Arrangement = (typeof ARRANGEMENTS)[number]

/** @throws if it does not work here */
export async function isolationOf(arrangement: Arrangement, agentDir: string): Promise<Isolation> {
  if (arrangement === 'none') return NO_ISOLATION
  const [name, by] = arrangement.split(' by ') as [string, 'bubblewrap' | 'unshare' | undefined]
  const found = await findIsolation({
    dataDir: agentDir,
    agentDir,
    hide: [],
    by: name.startsWith('namespaces') ? by! : null,
    withUids: name.endsWith('user'),
  })
  if ('fault' in found) throw new Error(`${arrangement}: ${found.fault}`)
  return found.isolation
}
