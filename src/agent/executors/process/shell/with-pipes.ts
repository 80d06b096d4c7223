import type { ChildProcess } from 'node:child_process'

/**
 * A program that was started with pipes. Where this process has no file descriptor left, Node starts nothing, makes none
 * of the pipes, and says so later, by an event that ends the process if nobody listens.
 *
 * @throws Error for people, if there are no pipes
 */
export function withPipes<Child extends ChildProcess>(child: Child): Child {
  child.on('error', () => undefined)
  if (child.stdout === undefined) throw new Error('no program can be started: too many files are open')
  return child
}
