"""Rules switched off, one at a time: with a rule off, its anomaly must appear and an invariant must name it.

A checker that never found anything may be unable to; one that catches every ablation is not. The broker has no branches
for this: each ablation replaces a function or method for as long as its context lasts.

    ablation.py  Ablation, and the hunt for a seed that shows it
    command.py   `python -m minikafka sim ablate 36`: those of a rule; the table in tests/seeds/ablations.tsv
    unasserted.py   the brokers without their asserts: harm is to be seen

By rule (minikafka/RULES.md; KIP-848 stands for the consumer protocol):

    1, 7      replication.py        cuts_below_high_watermark, takes_any_high_watermark
    2         replication.py        counts_committed_isr_only, shrinks_at_once
    3         replication.py        commits_alone
    4, 5, 15  replication.py        remembers_former_epochs
    4, 22     replication.py        counts_fetches_of_any_epoch
    5         replication.py        notes_no_epoch_start
    7         replication.py        truncates_to_high_watermark
    8         replication.py        moves_quietly, resigns_quietly
    10        replication.py        stable_before_replicated
    10        transactions.py       inclusive_last_stable_offset
    15        isr_and_elections.py  admits_fenced_brokers, expands_below_epoch_start, expands_below_high_watermark
    15, 16    isr_and_elections.py  ignores_broker_epochs
    15, 27    isr_and_elections.py  counts_on_leaving_brokers
    16        isr_and_elections.py  ignores_partition_epochs
    17        isr_and_elections.py  reverts_at_any_refusal
    19        replication.py        copies_no_epochs
    21        replication.py        compares_offsets_only, never_tells_divergence
    22        replication.py        any_epoch_asks
    23        producers.py          producers_outlive_truncation
    23        replication.py        epochs_outlive_truncation
    26        isr_and_elections.py  answers_uncommitted
    29, 33    isr_and_elections.py  believes_every_return
    33        isr_and_elections.py  without_eligible_leaders
    34        raft_quorum.py        answers_before_persisting, never_writes_a_vote
    35        raft_quorum.py        votes_for_shorter_logs, votes_twice
    36        metadata_log.py       flushes_nothing
    36        raft_quorum.py        counts_itself_before_flushing, fetches_before_flushing
    37        raft_quorum.py        commits_at_epoch_start, needs_no_majority
    38        raft_quorum.py        never_resigns
    39        raft_quorum.py        asks_for_no_pre_vote
    41        metadata_log.py       snapshots_not_durable, told_too_early
    43        producers.py          no_duplicates_known
    44        producers.py          any_sequence
    45        producers.py          former_epochs_write
    46        log_files.py          younger_snapshots_believed
    46        producers.py          followers_forget, no_replay
    48        transactions.py       decided_at_once
    49        transactions.py       forgets_decisions
    50        transactions.py       no_fencing
    51        producers.py          any_coordinator_marks, clients_mark
    52        transactions.py       before_kip_890, classic_end, classic_record, same_epoch, unverified
    53        producers.py          unmarked_records
    54        transactions.py       nobody_told_of_aborts
    55        transactions.py       leaves_prepared, unread_transactions
    58        classic_groups.py     any_generation, any_sync, assignments_at_once
    59, 60    classic_groups.py     any_instance_commits
    60        classic_groups.py     anybody_commits, commits_at_once
    61        transactions.py       offsets_at_once
    62        classic_groups.py     unread_partition
    63        log_files.py          aborts_not_flushed, aborts_written_anew, cut_not_durable, deletions_not_durable,
                                    holes_accepted, indexes_believed, later_segments_stay, no_recovery
    63        log_folders.py        epochs_not_recovered, recovers_without_checksums
    64        log_files.py          recovery_point_runs_ahead
    64        log_folders.py        keeps_the_clean_marker
    66        log_files.py          cleans_undecided, copy_not_flushed, originals_first, swaps_dropped
    67        log_files.py          refused_not_written_again
    68        log_folders.py        believes_the_name
    KIP-848   consumer_groups.py    any_epoch_commits, given_too_early
"""
