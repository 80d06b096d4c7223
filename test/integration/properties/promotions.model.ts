/** Which sessions a promotion moves, how far, and as what they end: in plain words, beside the statements. */
import {
  isTerminal,
  type KernelStatus,
  type PromotionName,
  type SessionStatus,
} from '../../../src/domain/session/lifecycle.ts'

export interface ModelKernel {
  status: KernelStatus
  /** The main one comes first. */
  main: boolean
  assignment: number
  agentLost: boolean
  started: boolean
  failed: boolean
  exitCode: number | null
  stopped: boolean
}

export interface ModelSession {
  status: SessionStatus
  result: 'SUCCESS' | 'FAILURE' | 'UNDEFINED'
  exitCode: number | null
  tries: number
  /** Whether a kernel of several has ended it. */
  endedByKernel: boolean
  kernels: ModelKernel[]
  /** Moves as `from→to`. */
  events: string[]
  /** Moves as `phase from→to`. */
  history: string[]
}

type Step = [phase: string, to: SessionStatus]

/** The session after a promotion; the same where it does not apply. */
export function promoted(name: PromotionName, session: ModelSession): ModelSession {
  const steps = stepsOf(name, session)
  if (steps.length === 0) return session
  const to = steps.at(-1)![1]
  const arrows = steps.map(([, status], n) => `${steps[n - 1]?.[1] ?? session.status}→${status}`)
  const starts = name === 'promote-to-prepared' && to === 'CREATING'
  return {
    ...session,
    ...endOf(name, session),
    status: to,
    tries: 0,
    kernels: session.kernels.map((kernel) => (starts ? { ...kernel, status: 'CREATING' } : kernel)),
    events: [...session.events, ...arrows],
    history: [...session.history, ...steps.map(([phase], n) => `${phase} ${arrows[n]}`)],
  }
}

function stepsOf(name: PromotionName, session: ModelSession): Step[] {
  const { status, kernels } = session
  const every = (...statuses: KernelStatus[]) => kernels.every((kernel) => statuses.includes(kernel.status))
  const over = kernels.every((kernel) => isTerminal(kernel.status))
  const last: Step = ['promote-to-terminated', endOf(name, session).result === 'FAILURE' ? 'ERROR' : 'TERMINATED']
  const end: Step[] = [['detect-termination', 'TERMINATING'], ...(over ? [last] : [])]
  switch (name) {
    case 'promote-to-pulling':
      return status === 'PREPARING' && kernels.some((kernel) => kernel.status === 'PULLING') ? [[name, 'PULLING']] : []
    case 'promote-to-prepared': {
      if ((status !== 'PREPARING' && status !== 'PULLING') || blocked(session) || !every('PREPARED')) return []
      const starts = !kernels.some(({ agentLost }) => agentLost)
      return [[name, 'PREPARED'], ...(starts ? [['start-sessions', 'CREATING'] satisfies Step] : [])]
    }
    case 'promote-to-running':
      if (status !== 'CREATING' || blocked(session)) return []
      if (!kernels.every((kernel) => kernel.status === 'RUNNING' || isTerminal(kernel.status))) return []
      return [[name, 'RUNNING'], ...(deciding(kernels) ? end : [])]
    case 'detect-termination':
      return status === 'RUNNING' && deciding(kernels) ? end : []
    case 'promote-to-terminated':
      return status === 'TERMINATING' && over ? [last] : []
  }
}

/** A kernel that failed or ended before it ran is judged first. */
export function blocked({ kernels }: ModelSession): boolean {
  return kernels.some(({ started, failed, status }) => !started && (failed || isTerminal(status)))
}

/** The main kernel's end, else the first failure; what was stopped comes last. */
function deciding(kernels: readonly ModelKernel[]): ModelKernel | undefined {
  const decide = kernels.filter((kernel) => isTerminal(kernel.status) && (kernel.main || hasFailed(kernel)))
  return decide.find(({ stopped }) => !stopped) ?? decide[0]
}

function hasFailed({ status, exitCode }: ModelKernel): boolean {
  return status !== 'TERMINATED' || exitCode !== 0
}

function endOf(
  name: PromotionName,
  session: ModelSession,
): Pick<ModelSession, 'result' | 'exitCode' | 'endedByKernel'> {
  const { result, exitCode, endedByKernel, kernels } = session
  const kernel = deciding(kernels)
  if (name === 'promote-to-pulling' || name === 'promote-to-prepared' || !kernel)
    return { result, exitCode, endedByKernel }
  // Asked again only where a kernel of several has ended it: another end is final.
  if (name === 'promote-to-terminated' && !endedByKernel) return { result, exitCode, endedByKernel }
  const failed = hasFailed(kernel)
  return {
    result: failed ? 'FAILURE' : 'SUCCESS',
    exitCode: kernel.exitCode,
    endedByKernel: failed && kernels.length > 1,
  }
}
