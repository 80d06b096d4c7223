import { DEFAULT_UIDS, openProjectUids, type UidRange } from '../process/isolation/project-uids.ts'
import type { EngineDescription } from './engine/engine.ts'

/** As whom kernels run, and to whom their directories belong. */
export interface ContainerUsers {
  /** Of kernels of a project: the owner of its directories, null for the agent's own user, and the user inside. */
  of(projectId: string | null): { uid: number | null; inside: string }
  /** Whether others than the agent pass through its directories to theirs. */
  readonly areOthers: boolean
}

/**
 * With root's engine each project has a user of its own. The engine of an ordinary user has a user namespace, in which
 * root is that very user: a kernel runs as this root, without any of its rights, and its files are the agent's.
 */
export function openContainerUsers(
  agentDir: string,
  engine: EngineDescription,
  range: UidRange | undefined,
): ContainerUsers {
  if (engine.rootless) return { areOthers: false, of: () => ({ uid: null, inside: '0:0' }) }
  const uids = openProjectUids(agentDir, range ?? DEFAULT_UIDS)
  return {
    areOthers: true,
    of(projectId) {
      const uid = uids.of(projectId)
      return { uid, inside: `${uid}:${uid}` }
    },
  }
}
