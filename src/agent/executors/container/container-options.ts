import type { PullPolicy } from './pull-image.ts'

/** A directory of the agent's machine, or a volume of the engine, that sessions may ask for by a name. */
export interface ContainerVolume {
  /** An absolute path, or the name of the engine's volume. */
  source: string
  readOnly: boolean
  /** Names of the projects that may use it; null: all. */
  projects: readonly string[] | null
}

export interface ContainerOptions {
  /** For sessions that name none. */
  image?: string | undefined
  /** Patterns of images that sessions may name; `*` stands for anything. */
  allow: readonly string[]
  pull: PullPolicy
  /** Docker's config.json. */
  authFile?: string | undefined
  /** `default` for the engine's own, `none`, `host`, or one by name. */
  network: string
  volumes: Readonly<Record<string, ContainerVolume>>
  /** The engine's default where it is not set. */
  runtime?: string | undefined
  processes: number
  shmBytes: number
  /** The image's files cannot be changed. */
  readOnly: boolean
  /** Containers that are created or started at a time. */
  parallel: number
}
