import { join } from 'node:path'
import { readControlFile, writeControlFile } from '../../../control-file.ts'

/** The user and group ids of projects; both are the same number. */
export interface ProjectUids {
  /**
   * Returns the id of a project, always the same one, and never that of another project.
   *
   * @param projectId null if the server does not send it, as servers of an older version do: such kernels share an id
   * @throws if the range is used up
   */
  of(projectId: string | null): number
}

export interface UidRange {
  first: number
  last: number
}

/**
 * A range that nothing else assigns: above the ids for containers from /etc/subuid and systemd, below the limit of 31
 * bits.
 */
export const DEFAULT_UIDS: UidRange = { first: 2_000_000_000, last: 2_000_065_535 }

const UNKNOWN = 'unknown'

/**
 * Opens `project-uids.json`, which maps each project's id to its place in the range. A place is never given to another
 * project, because the files in the chain directories belong to its user.
 */
export function openProjectUids(agentDir: string, { first, last }: UidRange): ProjectUids {
  const path = join(agentDir, 'project-uids.json')
  const places = new Map(Object.entries(readPlaces(path)))
  return {
    of(projectId) {
      const key = projectId ?? UNKNOWN
      const known = places.get(key)
      if (known !== undefined) return first + known
      const place = places.size
      if (first + place > last)
        throw new Error(`no user id is left for this project: REPRISE_ISOLATION_UIDS has only ${last - first + 1}`)
      // Written before use: otherwise another project could get the same place after a restart.
      writeControlFile(path, `${JSON.stringify({ ...Object.fromEntries(places), [key]: place })}\n`)
      places.set(key, place)
      return first + place
    },
  }
}

/** @throws if the file is unreadable: with new places, projects could read each other's files */
function readPlaces(path: string): Record<string, number> {
  const text = readControlFile(path)
  return text === null ? {} : (JSON.parse(text) as Record<string, number>)
}
