import { readdir, readFile } from 'node:fs/promises'

/** The process that ends the job of a kernel, on its node: its id, and its group's. */
export async function findKeeper(kernelId: string): Promise<number | undefined> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const words = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
    const group = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]
    if (words.includes('\0reprise-keeper\0') && words.includes(kernelId) && group === pid) return Number(pid)
  }
  return undefined
}
