import type { FailureError } from '../../../domain/session/failure.ts'
import { type ExitVerdict, judgeExit } from '../kernels/exit-verdict.ts'
import type { ContainerDescription } from './engine/engine-answers.ts'

/** The known facts about a container that began. */
export interface ContainerEvidence {
  /** Null if the engine no longer has it. */
  container: Pick<ContainerDescription, 'status' | 'exitCode' | 'oomKilled' | 'finishedAt'> | null
  /** Exit code that this agent has recorded before; null if it has not seen the end. */
  notedExitCode: number | null
  stopOrdered: boolean
  stopError: FailureError | null
  /** From the cgroup around it, or recorded by an earlier instance. */
  ranOutOfMemory: boolean
  memoryLimitBytes: number | null
  /** The reason why the command's program could not be run; null if it could. */
  missing: string | null
  /** Explains a failure that nothing else explains, if its output does. */
  explained?: () => FailureError | null
  /** The machine has restarted since the container began. */
  otherBoot: boolean
  /** Times when the engine was down, as far as this agent knows. */
  outages: readonly Outage[]
}

export interface Outage {
  from: Date
  /** Null while the outage lasts, as far as this agent knows. */
  to: Date | null
}

/** Codes of a container that ended with its engine, or for which the engine knows no better one. */
const TAKEN_ALONG = new Set([137, 143, 255])
/** After a restart, an engine checks its containers for this long. */
const OUTAGE_SLACK_MS = 10_000

export function isOver({ status }: Pick<ContainerDescription, 'status'>): boolean {
  return status === 'exited' || status === 'dead' || status === 'stopped' || status === 'removing'
}

/** Whether it was never started. Docker and Podman have different names for this status. */
export function isUnstarted({ status }: Pick<ContainerDescription, 'status'>): boolean {
  return status === 'created' || status === 'configured' || status === 'initialized'
}

/** Decides how the end of a container that began is reported. */
export function judgeContainer(evidence: ContainerEvidence): ExitVerdict {
  const { container, notedExitCode, stopOrdered, stopError, ranOutOfMemory, memoryLimitBytes, missing } = evidence
  const { explained } = evidence
  const exitCode = notedExitCode ?? container?.exitCode ?? null
  if (exitCode === null) {
    if (stopOrdered) return judgeExit({ ...NOTHING, exitCode, stopOrdered, stopError })
    if (container !== null) return { exitCode, oomKilled: false, error: LOST }
    const message = 'its container was removed by somebody else'
    return { exitCode: null, oomKilled: false, error: { name: 'cancelled-outside', message } }
  }
  const ofMemory = ranOutOfMemory || container?.oomKilled === true
  if (!stopOrdered && !ofMemory && TAKEN_ALONG.has(exitCode) && wasTakenAlong(evidence)) {
    const what = evidence.otherBoot ? 'its machine was restarted' : 'the container engine was started again'
    return { exitCode, oomKilled: false, error: { name: 'node-failed', message: `${what} while it ran` } }
  }
  const oomKills = ofMemory ? 1 : 0
  const explanation = explained === undefined ? {} : { explained }
  return judgeExit({
    ...NOTHING,
    exitCode,
    stopOrdered,
    stopError,
    oomKills,
    memoryLimitBytes,
    missing,
    ...explanation,
  })
}

const LOST: FailureError = {
  name: 'kernel-vanished',
  message: "the engine's monitor of its container was killed, so nobody knows how it ended",
}
const NOTHING = { oomKills: 0, oomMark: null, memoryLimitBytes: null, missing: null }

function wasTakenAlong({ container, otherBoot, outages }: ContainerEvidence): boolean {
  if (otherBoot) return true
  const at = container?.finishedAt?.getTime()
  if (at === undefined) return false
  return isWithin(outages, at, OUTAGE_SLACK_MS)
}

/** Whether the engine was down when a container ended, and may have missed output. */
export function endedUnseen({ finishedAt }: Pick<ContainerDescription, 'finishedAt'>, outages: readonly Outage[]) {
  return finishedAt !== null && isWithin(outages, finishedAt.getTime(), 0)
}

function isWithin(outages: readonly Outage[], at: number, slackMs: number): boolean {
  return outages.some(({ from, to }) => at >= from.getTime() - slackMs && (to === null || at <= to.getTime() + slackMs))
}

/** `catatonit` ends with 1 for every reason. */
const REFUSED = new Set([1, 126, 127])
/** Messages of init programs that could not run the container's program. */
const INIT_WORDS = [/^\[FATAL tini \(\d+\)\] exec (.*) failed: /, /^ERROR \(catatonit:\d+\): failed to exec pid1: /]

/** @param stderr its first line */
export function missingProgram(exitCode: number | null, stderr: string, command: readonly string[]): string | null {
  if (exitCode === null || !REFUSED.has(exitCode) || !INIT_WORDS.some((words) => words.test(stderr))) return null
  const [program = ''] = command
  return stderr.endsWith('No such file or directory')
    ? `command not found: there is no ${program} in the image`
    : `${program} is no program: it is not executable`
}

/** Finds such a reason in the message with which an engine refused to start the program. */
export function refusedProgram(message: string): string | null {
  const found = /executable file|no such file or directory|not found in \$PATH|command that was not found/i.test(
    message,
  )
  const isOfProgram = /exec|OCI|runc|crun/.test(message)
  return found && isOfProgram && !/mount|bind source/i.test(message)
    ? `command not found in the image: ${message}`
    : null
}

const UNKNOWN_DEVICE = /unresolvable CDI devices|stat nvidia\.com\/gpu/i

/** Whether Podman knows no device of this name. */
export function isUnknownDevice(message: string): boolean {
  return UNKNOWN_DEVICE.test(message)
}

const ADVICE: [RegExp, string][] = [
  [
    /could not select device driver/i,
    'Docker has no driver for GPUs: install the NVIDIA Container Toolkit, and start Docker again',
  ],
  [
    UNKNOWN_DEVICE,
    'the machine has no such GPU for Podman: describe its GPUs with nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml (Podman 4.1 or later)',
  ],
]

/** Returns the engine's message, followed by advice where there is some. */
export function withAdvice(message: string): string {
  const [, advice] = ADVICE.find(([words]) => words.test(message)) ?? []
  return advice === undefined ? message : `${advice} (${message})`
}
