import type { ContainerVolume } from './container-volumes.ts'
import type { Retention } from '../../../domain/retention.ts'
import type { PullPolicy } from './engine/pull-image.ts'

export interface ContainerOptions {
  /** For sessions that name none. */
  image?: string | undefined
  /** Patterns of images that sessions may name; `*` stands for anything. */
  allow: readonly string[]
  pull: PullPolicy
  /** Of images that the agent has pulled and nothing uses. */
  imageKeep: Retention
  /** Docker's config.json. */
  authFile?: string | undefined
  /** `default` for the engine's own, `none`, `host`, or one by name. */
  network: string
  /** What sessions may ask for by name. */
  volumes: readonly ContainerVolume[]
  /** The engine's default where it is not set. */
  runtime?: string | undefined
  processes: number
  shmBytes: number
  /** The image's files cannot be changed. */
  readOnly: boolean
  /** Containers that are created or started at a time. */
  parallel: number
}
