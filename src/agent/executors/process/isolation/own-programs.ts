import { existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { ancestors, isBelow, type Hidden } from './hidden-paths.ts'

const ROOT = join(import.meta.dirname, '../../../../..')

/** Its Node, which `npm ci` has brought and commands of the image `node` run; and what the demo runs. */
const NAMES = ['node_modules', 'src/cli/demo/programs']

/** Replaced by empty ones. */
const EMPTY = ['/tmp', '/var/tmp', '/run', '/dev/shm']

/** What kernels see of the server's own package where they would see nothing of it. */
export interface OwnPrograms {
  readonly root: string
  /** Relative to `root`. They exist. */
  readonly names: readonly string[]
  /** The directory above that has become empty, and that `root` must be made in. */
  readonly within: string
  /** `within` must be made empty for it: kernels may not enter it. */
  readonly empties: boolean
}

interface Around {
  mask: string
  hidden: readonly Hidden[]
  canEnter: (directory: string) => boolean
  root?: string | undefined
}

/** Null if kernels see them as they are, or where they must not. */
export function ownPrograms({ mask, hidden, canEnter, root = ROOT }: Around): OwnPrograms | null {
  const real = realpathSync(root)
  const covered = [...EMPTY, mask].find((directory) => isBelow(real, directory))
  const within = covered ?? ancestors(real).find((directory) => !canEnter(directory))
  if (within === undefined) return null
  const secret = [mask, ...hidden.map(({ path }) => path)]
  const names = NAMES.filter((name) => {
    const path = join(real, name)
    if (!existsSync(path) || realpathSync(path) !== path) return false
    return !secret.some((other) => other === path || isBelow(other, path) || (other !== mask && isBelow(path, other)))
  })
  return names.length === 0 ? null : { root: real, names, within, empties: covered === undefined }
}
