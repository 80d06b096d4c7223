import type { KernelVariable } from './kernel-variables.ts'
import type { ClusterMode } from './statuses.ts'

/** One kernel of a session; `address` is its agent's address, empty if it has none. */
export interface ClusterMember {
  role: string
  /** 1-based within its role. */
  index: number
  address: string
}

/** `main1`, `sub1`, `sub2`, … */
export function kernelName({ role, index }: Pick<ClusterMember, 'role' | 'index'>): string {
  return `${role}${index}`
}

/**
 * The variables that tell a kernel about itself and the other kernels of its session. The addresses are known once all
 * kernels are placed, which is before any is prepared; a rescheduled session gets new ones. `members` are in the order
 * main1, sub1, sub2, …; a kernel's rank is its position there, from 0.
 */
export function clusterEnvironment(
  kernel: Pick<ClusterMember, 'role' | 'index'>,
  cluster: { mode: ClusterMode; members: readonly ClusterMember[] },
): { name: KernelVariable; value: string }[] {
  const { mode, members } = cluster
  const name = kernelName(kernel)
  return [
    { name: 'REPRISE_KERNEL_NAME', value: name },
    { name: 'REPRISE_KERNEL_ROLE', value: kernel.role },
    { name: 'REPRISE_KERNEL_INDEX', value: String(kernel.index) },
    { name: 'REPRISE_CLUSTER_MODE', value: mode },
    { name: 'REPRISE_CLUSTER_SIZE', value: String(members.length) },
    { name: 'REPRISE_CLUSTER_RANK', value: String(members.findIndex((member) => kernelName(member) === name)) },
    {
      name: 'REPRISE_CLUSTER_HOSTS',
      value: members.map((member) => `${kernelName(member)}=${member.address}`).join(','),
    },
  ]
}
