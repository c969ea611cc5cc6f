-- SPDX-License-Identifier: GPL-3.0-or-later
-- Installed by onehpc.ondemand. A job that has lost its node has failed: it is never started again elsewhere, where it
-- could run a second time over what the first run has left. JobRequeue=0 says so for jobs that do not ask.

local REQUEUE = 1

function slurm_job_submit(job, _partitions, _submitter)
  if job.requeue == REQUEUE then
    job.requeue = 0
    slurm.log_user("a job is never moved to another node here: --requeue has no effect")
  end
  return slurm.SUCCESS
end

function slurm_job_modify(job, _record, _partitions, _modifier)
  if job.requeue == REQUEUE then
    job.requeue = 0
  end
  return slurm.SUCCESS
end
