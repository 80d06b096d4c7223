import type { ReactNode } from 'react'
import { problemOf } from '../../api/problem.ts'
import { Dropped } from '../../app/list/dropped.tsx'
import { ProblemPanel } from '../../app/problem-panel.tsx'
import { Skeleton } from '../../design/skeleton.tsx'

interface SectionProps {
  /** What is set here, in a sentence. */
  says: string
  dropped?: readonly string[] | undefined
  /** What can be done here. */
  acts?: ReactNode
  children: ReactNode
}

/** Below the tabs: what it is about, what can be done, and the rest. */
export function Section({ says, dropped, acts, children }: SectionProps) {
  return (
    <>
      <div className="settings-head">
        <p>{says}</p>
        {acts !== undefined && <div className="settings-acts">{acts}</div>}
      </div>
      <Dropped names={dropped} />
      {children}
    </>
  )
}

interface PartProps<Data> {
  read: { data: Data | undefined; error: Error | undefined; again: () => void }
  children: (data: Data) => ReactNode
}

/** What was read, or why not; in a panel of its own. */
export function Part<Data>({ read: { data, error, again }, children }: PartProps<Data>) {
  const problem = error && problemOf(error)
  return (
    <>
      {data !== undefined && problem && (
        <p className="notice" role="status">
          This is no longer up to date: {problem.message}
        </p>
      )}
      <div className="table-panel">
        {data !== undefined ? (
          children(data)
        ) : problem?.code === 'FORBIDDEN' ? (
          <div className="empty" role="alert">
            <h2>This is not for your token</h2>
            <p>{problem.message}</p>
          </div>
        ) : error ? (
          <ProblemPanel error={error} onAgain={again} />
        ) : (
          <Skeleton />
        )}
      </div>
    </>
  )
}
