import { lstatSync, realpathSync } from 'node:fs'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import { mountAbove, mountPathFault } from '../../../domain/session/mount/mounts.ts'
import { messageOf } from '../../../observability/error-message.ts'

/** A directory that sessions may ask for by name. */
export interface ContainerVolume {
  name: string
  source: string
  readOnly: boolean
  /** Names of the projects that may use it; null: all. */
  projects: string[] | null
}

/** A directory of this machine in a container. */
export interface VolumeBind {
  source: string
  target: string
  readOnly: boolean
}

/**
 * What a session asks for, as far as this agent lets its project have it: whatever the server has made of what the agent
 * told it, or of what a member of the project asked.
 *
 * @returns why it cannot have them, in words
 */
export function volumeBinds(volumes: readonly ContainerVolume[], spec: KernelSpec): VolumeBind[] | string {
  const binds: VolumeBind[] = []
  for (const { volume: name, path, readOnly } of spec.mounts ?? []) {
    const volume = volumes.find((each) => each.name === name)
    const mayUse = volume?.projects === null || volume?.projects.includes(spec.projectName ?? '')
    if (volume === undefined || !mayUse) {
      return `this agent has no volume ${name} for project ${spec.projectName} (REPRISE_CONTAINER_VOLUMES)`
    }
    if (volume.readOnly && !readOnly) return `volume ${name} is read-only on this agent (REPRISE_CONTAINER_VOLUMES)`
    const others = binds.map(({ target }) => target)
    const fault = mountPathFault(path) ?? (mountAbove(path, others) === undefined ? null : 'another volume is there')
    if (fault !== null) return `volume ${name} cannot be mounted at ${path}: ${fault}`
    binds.push({ source: volume.source, target: path, readOnly })
  }
  return binds
}

/**
 * Why it cannot be given to a container; null if it can. Engines follow links, and make what is missing or pass over it.
 */
export function volumeFault({ source }: Pick<VolumeBind, 'source'>): string | null {
  try {
    if (!lstatSync(source).isDirectory()) return `${source} is no directory`
    return realpathSync(source) === source ? null : `there are links in ${source}`
  } catch (error) {
    return messageOf(error)
  }
}
