import { constants, type Stats } from 'node:fs'
import {
  chmod,
  chown,
  copyFile,
  cp,
  lchown,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  rm,
  symlink,
  utimes,
} from 'node:fs/promises'
import { join } from 'node:path'

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
const IS_LINUX = process.platform === 'linux'

/**
 * Copies a file or a directory with owners, modes, times and links; into a directory that is there, beside its
 * entries. Sockets, FIFOs and devices are left out, and so are files that are removed meanwhile, and `leftOut`, which
 * are paths relative to `from`. Only root can keep owners.
 *
 * Kernels may change their files meanwhile. On Linux no link is ever followed below `from`: each directory and file is
 * opened once, and reached through its descriptor from then on.
 */
export async function copyTree(from: string, to: string, leftOut: readonly string[] = []): Promise<void> {
  if (process.platform === 'win32') {
    const isKept = (path: string) => !leftOut.some((name) => path === join(from, name))
    return cp(from, to, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true, filter: isKept })
  }
  const source = await open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const found = await source.stat()
    const path = IS_LINUX ? `/proc/self/fd/${source.fd}` : from
    if (found.isDirectory()) await copyDirectory(path, to, leftOut)
    else if (found.isFile()) await copyFile(path, to, constants.COPYFILE_FICLONE)
    else return
    if (process.getuid?.() === 0) await chown(to, found.uid, found.gid)
    await keepModeAndTimes(to, found)
  } finally {
    await source.close()
  }
}

async function copyDirectory(from: string, to: string, leftOut: readonly string[]): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 })
  for (const name of await readdir(from)) {
    if (leftOut.includes(name)) continue
    const below = leftOut.filter((path) => path.startsWith(`${name}/`)).map((path) => path.slice(name.length + 1))
    const [source, target] = [join(from, name), join(to, name)]
    await copyTree(source, target, below).catch(async (error: NodeJS.ErrnoException) => {
      if (error.path !== source) throw error
      if (error.code === 'ELOOP') await copyLink(source, target)
      // It was removed meanwhile, or is a socket.
      else if (error.code !== 'ENOENT' && error.code !== 'ENXIO') throw error
    })
  }
}

async function copyLink(from: string, to: string): Promise<void> {
  const [target, found] = await Promise.all([readlink(from), lstat(from)])
  await rm(to, { force: true })
  await symlink(target, to)
  if (process.getuid?.() === 0) await lchown(to, found.uid, found.gid)
}

async function keepModeAndTimes(to: string, { mode, atime, mtime }: Stats): Promise<void> {
  await chmod(to, mode & 0o7777)
  await utimes(to, atime, mtime)
}
