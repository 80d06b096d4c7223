import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { guarded } from '../../../../waiting/wait.ts'
import { readControlFile, writeControlFile } from '../../../control-file.ts'
import { type Isolation, IsolationError, IsolationUndecidedError, isWeaker, NO_ISOLATION } from './isolation.ts'
import {
  ADVICE,
  findIsolation,
  type IsolationOptions,
  makeIsolation,
  type SelectedIsolation,
  selectIsolation,
  type Way,
  waysOf,
} from './select-isolation.ts'

/** Name of a file in the agent's directory with the isolation that its kernels had last. */
const RECORD = 'isolation.json'
/** Pause before an agent whose earlier isolation does not work tries again. A probe starts some processes. */
const TRY_AGAIN_MS = 5_000

export interface DecidedIsolation {
  isolation: Isolation
  name: string
  /** Why stronger isolations do not work here. */
  faults: string[]
  /** If missing, kernels can be isolated as described. See AgentOptions. */
  guard?(tell: (reason: string | null) => void): { close(): void }
}

interface Decision {
  name: string
  /** Null for no isolation. */
  way: Way | null
}

/**
 * Decides how this agent's kernels are isolated. The first start decides, and the result is kept in the agent's
 * directory. A later start may find a stronger isolation, which is kept from then on. Only a configuration change can
 * make it weaker. If the earlier isolation does not work now, the agent starts no kernels, keeps the running ones, and
 * tries again until it works. A probe that fails for lack of space, memory, files or time does not count.
 *
 * @throws IsolationError if one is configured, does not work, and never has
 * @throws IsolationUndecidedError at the first start, if the probes give no answer
 */
export async function decideIsolation(options: IsolationOptions): Promise<DecidedIsolation> {
  const { mode, agentDir } = options
  const found = await selectIsolation(options)
  const { name, faults, unanswered, isolation, way } = found
  const before = recall(agentDir)
  const isEnough = mode === 'auto' ? before !== null && !isWeaker(name, before.name) : way !== null || mode === 'none'
  if (isEnough || (mode === 'auto' && before === null && unanswered.length === 0)) {
    if (before?.name !== name || before.way?.by !== way?.by) remember(agentDir, { name, way })
    return { isolation, name, faults }
  }
  const kept = before?.way ?? null
  const isOfMode = kept !== null && mode !== 'none' && waysOf(mode).some((each) => isSame(each, kept))
  if (before !== null && (mode === 'auto' || isOfMode)) return refuse(options, before, found)
  if (unanswered.length > 0) throw new IsolationUndecidedError(unanswered)
  throw new IsolationError(`REPRISE_ISOLATION=${mode} does not work here (${faults.join('; ')}). ${ADVICE}`)
}

/** Keeps the earlier isolation for running kernels, and for new ones once it works again. */
function refuse(options: IsolationOptions, before: Decision, found: SelectedIsolation): DecidedIsolation {
  const { way, name } = before
  const words = (faults: readonly string[]) =>
    `its kernels were isolated by ${name}, which does not work now (${faults.join('; ')}); ` +
    `REPRISE_ISOLATION=${found.name.includes('namespaces') ? 'namespaces' : found.name} accepts ${found.name} instead`
  let isolation = NO_ISOLATION
  let again: () => Promise<string | null> = () => Promise.resolve(words(found.faults))
  try {
    if (way !== null) {
      isolation = makeIsolation({ ...options, ...way })
      again = async () => {
        const tried = await findIsolation({ ...options, ...way })
        return 'isolation' in tried ? null : words([tried.fault])
      }
    }
  } catch {
    // For example, it never works for this user: then only a restart as another user helps.
  }
  return { isolation, name, faults: found.faults, guard: (tell) => keepTrying(words(found.faults), again, tell) }
}

function keepTrying(
  first: string,
  again: () => Promise<string | null>,
  tell: (reason: string | null) => void,
): { close(): void } {
  let timer: NodeJS.Timeout | undefined
  let closed = false
  const tryAgain = async () => {
    const reason = await again()
    if (closed) return
    tell(reason)
    if (reason !== null) later()
  }
  const later = () => {
    timer = setTimeout(guarded(tryAgain, later), TRY_AGAIN_MS).unref()
  }
  tell(first)
  later()
  return {
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}

function isSame(one: Way, other: Way): boolean {
  return one.by === other.by && one.withUids === other.withUids
}

/**
 * Returns the recorded decision, or null at the first start. @throws if the record is unreadable: a weaker isolation
 * could otherwise replace it
 */
function recall(agentDir: string): Decision | null {
  const path = join(agentDir, RECORD)
  const text = readControlFile(path)
  if (text === null) return null
  const { name, way } = JSON.parse(text) as Partial<Decision>
  if (typeof name !== 'string' || way === undefined) throw new Error(`${path} says no isolation`)
  return { name, way }
}

function remember(agentDir: string, decision: Decision): void {
  mkdirSync(agentDir, { recursive: true, mode: 0o700 })
  writeControlFile(join(agentDir, RECORD), `${JSON.stringify(decision)}\n`)
}
