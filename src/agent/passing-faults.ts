/** Of a disk, and of what a process or a machine may have at once: another try may find something else. */
const PASSING = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN']

export function isPassing(error: unknown): boolean {
  return PASSING.includes((error as NodeJS.ErrnoException).code ?? '')
}
