import { bubblewrapArguments } from './bubblewrap.ts'
import { becomeUser } from './drop-privileges.ts'
import type { Launch } from './isolation.ts'
import { unshareArguments } from './unshare.ts'

/**
 * The command that enters the kernel's isolation and there runs `/bin/sh`, which reads the rest from its input. Nothing
 * of the session is in its arguments or its environment, since it begins with the agent's rights: an LD_PRELOAD of the
 * session takes effect behind it.
 */
export function launchCommand(launch: Launch): string[] {
  const { isolation } = launch
  if (isolation.namespaces?.by === 'bubblewrap') return bubblewrapArguments(launch, isolation.namespaces)
  if (isolation.namespaces?.by === 'unshare') return unshareArguments(launch, isolation.namespaces)
  return [...becomeUser(launch), '/bin/sh']
}
