import type { SessionType } from './statuses.ts'

/** Which sessions a resource group takes. */
export interface GroupTypes {
  /** As it was configured. */
  allowed: readonly SessionType[]
  /** It has agents, and ports of what runs on them cannot be reached. */
  isPortless: boolean
}

/** Why the group takes no such session, in words; undefined if it does. */
export function refuseType(group: string, { allowed, isPortless }: GroupTypes, type: SessionType): string | undefined {
  if (!allowed.includes(type)) return `resource group ${group} takes ${allowed.join(', ')} only`
  if (isPortless && type !== 'BATCH')
    return `resource group ${group} takes BATCH only: ports of what runs on its agents cannot be reached`
  return undefined
}
