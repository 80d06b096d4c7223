/** By these an agent finds its containers and networks again. */
export const AGENT_LABEL = 'reprise.agent'
export const KERNEL_LABEL = 'reprise.kernel'
export const SESSION_LABEL = 'reprise.session'
export const ASSIGNMENT_LABEL = 'reprise.assignment'

/** What the engine is told to create; the labels by which the agent finds it again are among it. */
export interface CreateBody {
  Image: string
  Cmd: readonly string[]
  Entrypoint?: readonly string[]
  Env: string[]
  Labels: Record<string, string>
  HostConfig: { Init?: boolean; [name: string]: unknown }
  [name: string]: unknown
}
