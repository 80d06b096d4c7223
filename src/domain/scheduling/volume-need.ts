import type { Mount } from '../session/mount/mounts.ts'

/** The volumes that a session needs, and for whom. */
export interface VolumeNeed {
  /** Its name: agents know projects by it. */
  project: string
  mounts: readonly Mount[]
}

/** A volume that an agent has. */
export interface OfferedVolume {
  name: string
  readOnly: boolean
  /** Names of the projects that may use it; null: all. */
  projects: readonly string[] | null
}

/** Whether one agent has all of them for this project, as the session wants them. */
export function offersAll(volumes: readonly OfferedVolume[], { project, mounts }: VolumeNeed): boolean {
  return mounts.every((mount) => volumes.some((volume) => isOffered(volume, mount, project)))
}

function isOffered({ name, readOnly, projects }: OfferedVolume, mount: Mount, project: string): boolean {
  return name === mount.volume && (projects === null || projects.includes(project)) && (mount.readOnly || !readOnly)
}

/**
 * Why none of these agents, which `who` stands for, has them all, in words. What is there for other projects is not told from what is not there:
 * the words are for members of this one.
 */
export function missingVolumes(
  agents: readonly { volumes: readonly OfferedVolume[] }[],
  { project, mounts }: VolumeNeed,
  who: string,
): string {
  const has = (mount: Mount) => agents.some(({ volumes }) => offersAll(volumes, { project, mounts: [mount] }))
  const missing = mounts.find((mount) => !has(mount))
  if (missing === undefined) {
    return `${who} has all of the volumes ${mounts.map(({ volume }) => volume).join(', ')} for project ${project}`
  }
  const toRead = has({ ...missing, readOnly: true }) ? ' to write to, though to read: mount it read-only' : ''
  return `${who} has volume ${missing.volume} for project ${project}${toRead}`
}
