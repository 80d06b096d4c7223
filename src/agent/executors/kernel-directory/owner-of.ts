import type { Owner } from '../../../archive/extract-archive.ts'

/** The user of a project has a group of the same number; null for the agent's own. */
export function ownerOf(uid: number | null): Owner | null {
  return uid === null ? null : { uid, gid: uid }
}
