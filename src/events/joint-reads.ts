import { readShared } from '../services/consistent-reads.ts'

interface Joint {
  running: Promise<unknown>
  /** Begins when the running read has ended. */
  next?: Promise<unknown>
}

const byDatabase = new WeakMap<object, Map<string, Joint>>()

/**
 * Reads what many callers ask for at the same moment, as all subscribers do after a cut, in one statement at a time. A
 * caller joins only a read that has not begun: it sees everything that was committed before the caller asked.
 * @param key names the statement and its parameters
 */
export function readJointly<Result>(db: object, key: string, read: () => Promise<Result>): Promise<Result> {
  return readShared(() => joined(db, key, read) as Promise<Result>, read)
}

function joined(db: object, key: string, read: () => Promise<unknown>): Promise<unknown> {
  const joints = byDatabase.get(db) ?? new Map<string, Joint>()
  byDatabase.set(db, joints)
  const known = joints.get(key)
  if (known?.next) return known.next
  if (!known) return begin(joints, key, { running: read() })
  const next = known.running.then(ignored, ignored).then(() => begin(joints, key, { running: read() }))
  known.next = next
  return next
}

function begin(joints: Map<string, Joint>, key: string, joint: Joint): Promise<unknown> {
  joints.set(key, joint)
  const end = () => {
    if (joints.get(key) === joint && !joint.next) joints.delete(key)
  }
  joint.running.then(end, end)
  return joint.running
}

function ignored(): void {}
