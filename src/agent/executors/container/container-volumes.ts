import { lstatSync, realpathSync } from 'node:fs'
import { join } from 'node:path/posix'
import { v7 as uuidv7 } from 'uuid'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import { mountAbove, mountPathFault } from '../../../domain/session/mounts.ts'
import { messageOf } from '../../../observability/error-message.ts'
import type { ContainerKernel, ContainerVolume } from './container-kernel.ts'
import { AGENT_LABEL, ASSIGNMENT_LABEL, KERNEL_LABEL } from './engine/engine-client.ts'
import type { Engine } from './engine/engine.ts'

/** Largest number of links that Linux follows in one path. */
const LINKS_MAX = 40

/** A directory of this machine in a container. */
export interface VolumeBind {
  source: string
  target: string
  readOnly: boolean
}

/**
 * Returns the volumes that a session asks for, as far as this agent allows them to its project. The server has checked
 * them already. They are checked again here, because the agent does not rely on the server for access to its
 * directories.
 *
 * @returns why it cannot have them, as text for people
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
 * Returns why it cannot be mounted in a container; null if it can. Engines would follow links, and create a missing
 * directory or ignore it.
 */
export function volumeFault({ source }: Pick<VolumeBind, 'source'>): string | null {
  try {
    if (!lstatSync(source).isDirectory()) return `${source} is no directory`
    return realpathSync(source) === source ? null : `there are links in ${source}`
  } catch (error) {
    return messageOf(error)
  }
}

/**
 * Returns why the kernel's volumes cannot be mounted in its image; null if they can. Engines follow the links of an
 * image when they mount: if /data is a link to /etc, a volume at /data would receive the files that an engine mounts
 * there. Links are looked up in a container that is never started and has no volumes.
 *
 * @throws EngineError, EngineSilentError
 */
export async function linkFault(engine: Engine, agentId: string, kernel: ContainerKernel): Promise<string | null> {
  const mounts = kernel.spec.mounts ?? []
  if (mounts.length === 0) return null
  const id = await engine.create(`reprise-links-${uuidv7()}`, {
    Image: kernel.image!.id,
    Cmd: ['true'],
    Env: [],
    // These labels let this agent remove the container with its other leftovers if it crashes here.
    Labels: {
      [AGENT_LABEL]: agentId,
      [KERNEL_LABEL]: kernel.id,
      [ASSIGNMENT_LABEL]: String(kernel.assignment),
    },
    HostConfig: { NetworkMode: 'none' },
  })
  try {
    for (const { volume, path } of mounts) {
      const followed = await followLinks(engine, id, path)
      if (followed === null) return `volume ${volume} cannot be mounted at ${path}: this image has too many links there`
      const fault = followed === path ? null : mountPathFault(followed)
      if (fault !== null) {
        return `volume ${volume} cannot be mounted at ${path}, which is ${followed} in this image: ${fault}`
      }
    }
    return null
  } finally {
    await engine.remove(id)
  }
}

/** @returns the path without links; null if it has too many */
async function followLinks(engine: Engine, containerId: string, path: string): Promise<string | null> {
  let links = 0
  let followed = '/'
  let rest = path.split('/').filter((part) => part !== '')
  while (rest.length > 0) {
    const next = join(followed, rest[0]!)
    rest = rest.slice(1)
    const target = await engine.linkTarget(containerId, next)
    if (target === null) return join(next, ...rest)
    if (target === '') followed = next
    else {
      if (++links > LINKS_MAX) return null
      // An engine returns either the resolved target, or the target as it is written.
      rest = [
        ...join(target.startsWith('/') ? '/' : followed, target)
          .split('/')
          .filter((part) => part !== ''),
        ...rest,
      ]
      followed = '/'
    }
  }
  return followed
}
